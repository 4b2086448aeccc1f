package clock

// Disturb makes the wait for a Timer's alarm fail.
func (t *Timer) Disturb() { t.alarm.Stop() }
