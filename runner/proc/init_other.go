//go:build !linux

package proc

// BeInit does nothing: these systems have no containers.
func BeInit() {}
