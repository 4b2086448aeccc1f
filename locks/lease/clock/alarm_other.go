//go:build !linux

package clock

// Alarm implements [Waker]. It returns nil.
func (Boot) Alarm(Instant) Alarm { return nil }
