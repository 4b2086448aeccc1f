package guard

import (
	"bytes"
	"slices"
	"sync"
)

// Orders are what leaderrun has to tell the guard, on its way. Nobody waits for a guard
// that reads nothing: there may be a signal to hear, or the end of the lease. A guard that
// is needed and does nothing is found out by its missing answer.
type orders struct {
	mu     sync.Mutex
	first  []frame       // what goes before the rest
	checks []frame       // about health checks, in this order
	news   chan struct{} // gets one when there are any
}

func newOrders() *orders { return &orders{news: make(chan struct{}, 1)} }

// put adds a frame. It does not block.
//
// Of orders that say the same, only the last is sent, as of signals that are pending: so
// there is never much, however long the guard reads nothing. A new deadline replaces an
// older one.
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

// next returns what is to be sent next. It waits until there is something, or returns
// false when over is closed.
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
