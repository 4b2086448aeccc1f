//go:build !linux && !darwin

package clock

// BootID returns "". The BSDs have kern.boottime, but without a battery-backed clock that
// may be the same after each boot.
func BootID() string { return "" }

// Epoch returns "": what an [Instant] counts from is unknown.
func Epoch() string { return "" }
