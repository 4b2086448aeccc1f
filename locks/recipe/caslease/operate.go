package caslease

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// Abilities implements [locks.Able].
func (l *Lock) Abilities(context.Context) ([]locks.Ability, error) {
	can := []locks.Ability{locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanBreak, locks.CanForget}
	if _, ok := l.store.(Lister); ok {
		can = append(can, locks.CanList)
	}
	if _, ok := l.store.(Watcher); ok {
		can = append(can, locks.CanWatch)
	}
	if _, ok := l.store.(Prober); ok {
		can = append(can, locks.CanProbe)
	}
	return can, nil
}

// Inspect implements [locks.Inspector] by one read. A lock whose lease seems to have run out
// is reported as held: until somebody else takes the lock, the lease may still be renewed. The
// status says how long the lock must still be inspected by this handle, without a change, until
// a waiter would take it.
func (l *Lock) Inspect(ctx context.Context) (s locks.State, err error) {
	err = l.Request(ctx, "inspect", func(ctx context.Context) error {
		v, err := l.glance(ctx)
		if err == nil && v.unreadable != nil {
			err = l.foreign(Lease, v.unreadable)
		}
		if err == nil {
			s.Status = l.present(l.Options.Name, v)
		}
		return err
	})
	return s, err
}

// present returns the status of a lock in a view, with the time left of its lease.
func (l *Lock) present(name string, v *view) locks.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.viewed[name] == nil {
		l.viewed[name] = &observer{traits: l.traits}
	}
	return l.viewed[name].present(v)
}

// present returns the same, if the observer has seen all that we know of the lock.
func (o *observer) present(v *view) locks.Status {
	s := v.present()
	switch left, _ := o.left(v); {
	case !s.Held || v.Leased:
	case left <= 0: // whatever the store's clock says
		s.Left = min(s.Left, left, -time.Millisecond)
	case s.Left < 0, s.Left == 0 && !o.moved: // a holder that lives writes soon
		s.Confirm = left
	}
	return s
}

// glance reads the lock's cell for somebody who need not have the lock.
func (l *Lock) glance(ctx context.Context) (v *view, err error) {
	err = l.patiently(ctx, func(ctx context.Context) error {
		v, err = l.read(ctx, Lease)
		return err
	})
	return v, err
}

// List implements [locks.Lister] by one request for each page. The cursor is the store's.
func (l *Lock) List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	lister, ok := l.store.(Lister)
	if !ok {
		return nil, "", &locks.UsageError{What: "this backend cannot list its locks"}
	}
	var cells []ListedCell
	var sent clock.Instant
	err = l.Request(ctx, "list the locks beside", func(ctx context.Context) error {
		return l.patiently(ctx, func(ctx context.Context) (err error) {
			sent = l.now()
			cells, next, err = lister.List(ctx, cursor)
			return err
		})
	})
	received := l.now()
	if err != nil {
		return nil, "", err
	}
	for _, c := range cells {
		v := newView(c.Cell)
		v.sent, v.received = sent, received
		if locks.CheckSlotName(c.Name) == nil && l.isLock(c.Name, v) {
			page = append(page, locks.Listed{Name: c.Name, Status: l.present(c.Name, v), Record: l.recordIn(c.Name, v)})
		}
	}
	return page, next, nil
}

// isLock reports whether a cell is a lock. It warns of a cell that leaderrun marked but
// cannot read, because nobody can take that lock.
func (l *Lock) isLock(name string, v *view) bool {
	if v.unreadable != nil && v.State != "" {
		l.Log.Warn("left out of the list: not a lock", l.traits.Cell, l.traits.Where(Key{name, Lease}), "err", v.unreadable)
	}
	return v.unreadable == nil
}

// recordIn returns the record in a view.
func (l *Lock) recordIn(name string, v *view) []byte {
	if v.badRecord() {
		l.Log.Warn("cannot read a record", l.traits.Cell, l.traits.Where(Key{name, Lease}))
		return nil
	}
	return v.Record
}

// Break implements [locks.Breaker]. It marks the lock as free, on the condition that the cell
// is still as it was when it showed the term. So the holder cannot renew in between, nor
// afterwards. The state keeps the token, and says that this was not a release. It has our last
// request, because a holder of this term reads no other any more.
func (l *Lock) Break(ctx context.Context, token uint64) error {
	nonce := rand.Text()
	return l.Request(ctx, "break", func(ctx context.Context) error {
		return l.insist(ctx, func() error { return l.breakOnce(ctx, token, nonce) })
	})
}

// breakOnce recognizes by the nonce an earlier attempt whose answer was lost.
func (l *Lock) breakOnce(ctx context.Context, token uint64, nonce string) error {
	ctx, cancel := context.WithTimeout(ctx, l.Options.ConnectTimeout/2)
	defer cancel()
	v, err := l.read(ctx, Lease)
	switch {
	case err != nil:
		return err
	case v.unreadable != nil:
		return l.foreign(Lease, v.unreadable)
	case v.exists() && v.state.Broken == nonce:
		return nil
	}
	if st := v.status(); !st.Held || st.Token != token {
		return errNotTheTerm
	}
	s := v.state.freed()
	s.Broken = nonce
	l.mu.Lock()
	s.Why = l.said
	l.mu.Unlock()
	if len(s.encode()) > MaxState {
		s.Why = ""
	}
	_, err = l.swap(ctx, Lease, v, Value{State: s.encode()})
	return err
}

// Probe implements [locks.Prober].
func (l *Lock) Probe(ctx context.Context) (found locks.Servers, err error) {
	prober, ok := l.store.(Prober)
	if !ok {
		return found, &locks.UsageError{What: "this backend cannot report the state of its servers"}
	}
	try := func(ctx context.Context, request func(context.Context) error) (explained *locks.Error) {
		if err := l.patiently(ctx, request); err != nil {
			explained, _ = l.Explain(err)
		}
		return explained
	}
	err = l.Request(ctx, "probe "+l.traits.Probed, func(ctx context.Context) (err error) {
		found, err = prober.Probe(ctx, try)
		return cmp.Or(err, ctx.Err())
	})
	return found, err
}

var (
	_ locks.Able      = (*Lock)(nil)
	_ locks.Inspector = (*Lock)(nil)
	_ locks.Lister    = (*Lock)(nil)
	_ locks.Breaker   = (*Lock)(nil)
	_ locks.Prober    = (*Lock)(nil)
)
