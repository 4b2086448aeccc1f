//go:build !linux

package proc

// BeInit does nothing: there are no containers of this system's own.
func BeInit() {}
