//go:build unix && !linux

package guard_test

import "os"

func hold(int)    {}
func relay()      {}
func endThreads() {}

func leave(status int) { os.Exit(status) }
