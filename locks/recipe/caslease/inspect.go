package caslease

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
)

// Inspect implements [locks.Inspector] by one read. A lock whose lease seems to have run out
// is reported as held: one read cannot prove that it has, and until somebody else takes the
// lock, the lease may still be renewed.
func (l *Lock) Inspect(ctx context.Context) (locks.State, error) {
	v, err := l.glance(ctx, Lease)
	if err == nil && v.unreadable != nil {
		err = l.inTheWay(Lease, v.unreadable, l.traits.HintForeign)
	}
	if err != nil {
		return locks.State{}, l.fail(ctx, "inspect", err)
	}
	return locks.State{Status: v.present()}, nil
}

// glance reads a cell for somebody who need not have the lock.
func (l *Lock) glance(ctx context.Context, p Part) (v *view, err error) {
	err = l.patiently(ctx, func(ctx context.Context) error {
		v, err = l.read(ctx, p)
		return err
	})
	return v, err
}

var _ locks.Inspector = (*Lock)(nil)
