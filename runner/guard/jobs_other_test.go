//go:build unix && !linux

package guard_test

func hold(int) {}
func relay()   {}
