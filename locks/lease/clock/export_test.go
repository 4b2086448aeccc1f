package clock

// Disturb makes the wait for a Timer's alarm fail.
func (t *Timer) Disturb() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alarm.Stop()
}
