package guard

import (
	"os"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// An arrival is what a guard waits for.
type arrival int

const (
	nothing    arrival = iota
	ordered            // leaderrun has sent an order
	hungUp             // leaderrun has died, or closed the line; comes once
	childEnded         // children have ended
	moment             // it is time, or almost
)

// An inbox is where a guard waits.
type inbox interface {
	open()
	close()
	// next waits for the next arrival, but not longer than until the given moment. No kind of
	// arrival keeps another one waiting.
	next(until clock.Instant) (arrival, frame)
	// order returns an order or hungUp if there is one. It does not wait.
	order() (arrival, frame)
}

// channels are the inbox of any line and host.
type channels struct {
	line   line
	host   host
	orders chan frame // nil: hung up
	ended  chan os.Signal
	done   chan struct{}
}

func newChannels(l line, h host) *channels {
	return &channels{line: l, host: h, orders: make(chan frame), ended: make(chan os.Signal, 1), done: make(chan struct{})}
}

func (c *channels) open() {
	go feed(c.line, c.orders, c.done)
	c.host.notify(c.ended)
}

func (c *channels) close() { close(c.done) }

func (c *channels) next(until clock.Instant) (arrival, frame) {
	timer := clock.NewTimer(c.host, until)
	defer timer.Stop()
	select {
	case f, ok := <-c.orders:
		return c.received(f, ok)
	case <-c.ended:
		return childEnded, frame{}
	case <-timer.C:
		return moment, frame{}
	}
}

func (c *channels) order() (arrival, frame) {
	select {
	case f, ok := <-c.orders:
		return c.received(f, ok)
	default:
		return nothing, frame{}
	}
}

func (c *channels) received(f frame, ok bool) (arrival, frame) {
	if !ok {
		c.orders = nil
		return hungUp, frame{}
	}
	return ordered, f
}

// feed sends received frames to a channel, until there are no more or done is closed.
func feed(l line, frames chan<- frame, done <-chan struct{}) {
	defer close(frames)
	for {
		f, err := l.receive()
		if err != nil {
			return
		}
		select {
		case frames <- f:
		case <-done:
			return
		}
	}
}
