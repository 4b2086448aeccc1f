package caslease

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
)

// Inspect implements [locks.Inspector] by one read. A lock whose lease seems to have run out
// is reported as held: until somebody else takes the lock, the lease may still be renewed. The
// status says how long the lock must still be inspected by this handle, without a change, until
// a waiter would take it.
func (l *Lock) Inspect(ctx context.Context) (locks.State, error) {
	v, err := l.glance(ctx, Lease)
	if err == nil && v.unreadable != nil {
		err = l.foreign(Lease, v.unreadable)
	}
	if err != nil {
		return locks.State{}, l.fail(ctx, "inspect", err)
	}
	return locks.State{Status: l.present(l.o.Name, v)}, nil
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
	if left, _ := o.left(v); s.Left < 0 {
		s.Confirm = max(left, 0)
	}
	return s
}

// Location implements [locks.Located].
func (l *Lock) Location(context.Context) string { return l.traits.Backend }

// glance reads a cell for somebody who need not have the lock.
func (l *Lock) glance(ctx context.Context, p Part) (v *view, err error) {
	err = l.patiently(ctx, func(ctx context.Context) error {
		v, err = l.read(ctx, p)
		return err
	})
	return v, err
}

var (
	_ locks.Inspector = (*Lock)(nil)
	_ locks.Located   = (*Lock)(nil)
)
