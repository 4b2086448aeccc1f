//go:build !linux && !darwin

package file

// bootID tells nothing. The BSDs have kern.boottime, but without a battery-backed
// clock that may be the same after each boot.
func bootID() string { return "" }
