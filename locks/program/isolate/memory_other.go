//go:build !linux

package isolate

// Memory does nothing: see the version for Linux.
func Memory() {}
