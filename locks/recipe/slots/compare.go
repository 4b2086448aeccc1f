package slots

// compare tells, once, that somebody has another N.
func (c *campaign) compare(v *view) {
	least := v.least()
	if v.unknown || least == 0 || least == c.n {
		return
	}
	level := c.log.Info
	what := "the holders allow more slots than we do; our number counts"
	if least < c.n {
		what = "a holder allows fewer slots than we do; its number counts"
		if !v.room(c.n) && len(v.held) < c.n {
			level = c.log.Warn // there are slots that we may not have
		}
	}
	c.once(what, func() { level(what, "slots", c.n, "theirs", least) })
}

// once does something that is worth to be done once.
func (l *Lock) once(what string, do func()) {
	l.mu.Lock()
	told := l.warned[what]
	l.warned[what] = true
	l.mu.Unlock()
	if !told {
		do()
	}
}
