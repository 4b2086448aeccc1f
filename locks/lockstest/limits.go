package lockstest

import "time"

// limits are how long a test waits for what must happen. They grow with its leases.
type limits struct {
	// prompt is "at once" on a slow machine: shorter than what a defect waits for (a
	// TTL, a connect timeout, for ever), longer than a stall of the scheduler.
	prompt time.Duration
	// stall is how late a busy machine may let a timer fire.
	stall time.Duration
	// wakes is how soon a waiter that is notified has the lock, typically.
	wakes time.Duration
	// noticed is how soon a holder that is notified hears of a loss.
	noticed time.Duration
	// connect is the connect timeout of contenders.
	connect time.Duration
	// grace is the time for an Acquire whose context has ended to undo what it did.
	grace time.Duration
	// patience bounds what must happen at some time.
	patience time.Duration
}

func newLimits(scale int) limits {
	l := limits{
		prompt:   2 * time.Second,
		stall:    time.Second,
		wakes:    250 * time.Millisecond,
		noticed:  time.Second,
		connect:  5 * time.Second,
		grace:    8 * time.Second,
		patience: 30 * time.Second,
	}
	for _, d := range []*time.Duration{&l.prompt, &l.stall, &l.wakes, &l.noticed, &l.connect, &l.grace, &l.patience} {
		*d *= time.Duration(scale)
	}
	return l
}
