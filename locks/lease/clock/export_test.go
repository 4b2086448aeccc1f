package clock

import "time"

// Disturb makes the wait for a Timer's alarm fail.
func (t *Timer) Disturb() { _ = t.alarm.SetReadDeadline(time.Unix(1, 0)) }
