//go:build !linux

package guard_test

import "os"

func hold(int)    {}
func daemons()    {}
func privileged() {}
func relay()      {}
func greedy()     {}
func headless()   {}
func hidden()     {}
func endThreads() {}

func leave(status int) { os.Exit(status) }
