package env

import (
	"os"
	"os/signal"
	"syscall"
)

// Catch catches signals.
func Catch(to chan<- os.Signal, all []os.Signal) { signal.Notify(to, all...) }

// Survive has nothing to do: no signal comes when what we write to goes away.
func Survive() {}

// endings are the signals by which a user ends a program.
func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// Stops is nil: nothing stops a process there.
func Stops() <-chan os.Signal { return nil }

// Stop is never called.
func Stop() {}
