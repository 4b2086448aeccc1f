//go:build unix && !linux

package socket

// outside is false: who descends from whom cannot be found out here.
func outside(int) bool { return false }
