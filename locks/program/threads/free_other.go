//go:build !linux

package threads

// Free is not known.
func Free() int { return many }
