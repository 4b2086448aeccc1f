//go:build unix && !linux

package socket

// outside returns false, because the ancestors of a process cannot be found here.
func outside(int) bool { return false }
