package lockstest

import "time"

// limits are how long a test waits for what must happen. They grow with its leases.
type limits struct {
	// prompt means "at once" on a slow machine: shorter than what a defect would wait for
	// (a TTL, a connect timeout, forever), longer than a stall of the scheduler.
	prompt time.Duration
	// stall is how late a busy machine may let a timer fire.
	stall time.Duration
	// wakes is how soon a notified waiter typically has the lock.
	wakes time.Duration
	// noticed is how soon a notified holder learns of a loss.
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
