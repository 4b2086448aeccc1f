package slots

import (
	"context"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
)

// turnstile opens a handle on the turnstile. Who waits for it is told of the
// slots' holders, as those before it in the queue hold nothing that it wants.
func (l *Lock) turnstile(ctx context.Context) (locks.Lock, error) {
	return l.handle(ctx, 0, func(w locks.Waiting) {
		select {
		case <-l.news: // the one before was not heard yet
		default:
		}
		select {
		case l.news <- w:
		default:
		}
	})
}

// tell tells what we wait for when it is our turn to have a slot.
func (c *campaign) tell(w locks.Waiting) {
	w.Lease, w.Position = c.lease, 1
	c.say(w)
}

func (c *campaign) say(w locks.Waiting) {
	if c.o.Waiting == nil || c.try {
		return
	}
	c.telling.Lock()
	defer c.telling.Unlock()
	c.o.Waiting(w)
}

// narrate tells what there is to tell of our place in the queue for the
// turnstile, until the function that it returns is called.
func (c *campaign) narrate(ctx context.Context) (stop func()) {
	if c.o.Waiting == nil || c.try {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for first := true; ; first = false {
			select {
			case <-ctx.Done():
				return
			case w := <-c.news:
				c.sayOfHolders(ctx, w, first)
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// sayOfHolders tells of one holder, and the first time of each: one of them may
// be the one in whose job we run.
func (c *campaign) sayOfHolders(ctx context.Context, w locks.Waiting, each bool) {
	if w.Position > 0 {
		w.Position++ // who is at the turnstile waits, too
	}
	v, err := c.glance(ctx, c.gate)
	if ctx.Err() != nil {
		return
	}
	if err != nil || len(v.held) == 0 {
		c.say(w)
		return
	}
	numbers := v.numbers()
	if !each {
		numbers = numbers[:1]
	}
	for _, number := range numbers {
		w.Status = v.held[number].Status
		c.say(w)
	}
}
