package guard

import (
	"bytes"
	"slices"
	"sync"
)

// orders is the queue of orders for the guard. leaderrun never waits for a guard that reads
// nothing, because a signal may arrive, or the lease may end. If a guard is needed and does
// nothing, leaderrun notices that it does not answer.
type orders struct {
	mu     sync.Mutex
	first  []frame       // sent before checks
	checks []frame       // about health checks, in this order
	news   chan struct{} // receives a value when there are orders
}

func newOrders() *orders { return &orders{news: make(chan struct{}, 1)} }

// put adds a frame. It does not block.
//
// Of equal orders, only the last is sent, as with pending signals. A new deadline replaces
// an older one. So the queue stays short, however long the guard reads nothing.
func (o *orders) put(f frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch f.kind {
	case kindCheckPart, kindCheck, kindKillCheck:
		o.checks = append(o.checks, f)
	default:
		o.first = slices.DeleteFunc(o.first, func(w frame) bool {
			return w.kind == f.kind && (f.kind == kindDeadline || bytes.Equal(w.body, f.body))
		})
		o.first = append(o.first, f)
	}
	select {
	case o.news <- struct{}{}:
	default:
	}
}

// next returns the next order to send. It waits until there is one, or returns false when
// over is closed.
func (o *orders) next(over <-chan struct{}) (f frame, ok bool) {
	for {
		if f, ok = o.take(); ok {
			return f, true
		}
		select {
		case <-o.news:
		case <-over:
			return frame{}, false
		}
	}
}

func (o *orders) take() (f frame, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, all := range []*[]frame{&o.first, &o.checks} {
		if len(*all) > 0 {
			f, *all = (*all)[0], (*all)[1:]
			return f, true
		}
	}
	return frame{}, false
}
