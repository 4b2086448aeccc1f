//go:build !linux

package action

import "syscall"

// Restore does nothing: no signal was changed.
func Restore(syscall.Signal) {}
