//go:build !linux && !darwin

package file

// bootID returns "". The BSDs have kern.boottime, but without a battery-backed clock that
// may be the same after each boot.
func bootID() string { return "" }
