//go:build !linux

package voter

import "time"

// Elsewhere nothing tells a directory that is empty after a reboot, or one boot from another, well
// enough: promises are not continued.
func checkVolatile(string) error { return nil }

func epoch() string { return "" }

func drift() time.Duration { return 0 }

// Rate returns false: it is unknown.
func Rate() (share float64, ok bool) { return 0, false }
