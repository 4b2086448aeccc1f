package env

import (
	"os"
	"os/signal"
	"syscall"
)

// Catch catches signals.
func Catch(to chan<- os.Signal, all []os.Signal) { signal.Notify(to, all...) }

// Survive does nothing: there is no signal when a reader goes away.
func Survive() {}

// endings returns the signals that end a program.
func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// Stops returns nil: nothing stops a process on Windows.
func Stops() <-chan os.Signal { return nil }

// Stop is never called.
func Stop() {}
