//go:build !linux

package threads

// Free does not know the limits.
func Free() int { return many }
