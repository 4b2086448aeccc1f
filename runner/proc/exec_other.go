//go:build unix && !linux

package proc

// dieWith does nothing: a process does not die with its parent here.
func dieWith(int) {}
