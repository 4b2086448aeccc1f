//go:build !linux

package clock

import "os"

// newAlarm returns nil.
func newAlarm(Instant) *os.File { return nil }
