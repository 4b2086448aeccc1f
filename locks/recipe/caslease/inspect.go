package caslease

import (
	"cmp"
	"context"

	"github.com/leaderrun/leaderrun/locks"
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

// Inspect implements [locks.Inspector] by one look. A lease that seems to have
// run out is told as held: whether it has, one look cannot prove, and until
// somebody else takes the lock it may still be renewed.
func (l *Lock) Inspect(ctx context.Context) (locks.State, error) {
	v, err := l.glance(ctx, Lease)
	if err == nil && v.foreign != nil {
		err = l.foreign(Lease, v.foreign, l.traits.HintForeign)
	}
	if err != nil {
		return locks.State{}, l.fail(ctx, "inspect", err)
	}
	return locks.State{Status: v.present()}, nil
}

// glance looks at a cell, for somebody who need not have the lock.
func (l *Lock) glance(ctx context.Context, p Part) (v *view, err error) {
	err = l.patiently(ctx, func(ctx context.Context) error {
		v, err = l.read(ctx, p)
		return err
	})
	return v, err
}

// patiently makes a request that changes nothing. What may pass is tried again for as
// long as an answer may take.
func (l *Lock) patiently(ctx context.Context, request func(context.Context) error) error {
	ctx, done := l.workers.Until(ctx)
	defer done()
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	return l.insist(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
		defer cancel()
		return request(ctx)
	})
}

// Probe implements [locks.Prober].
func (l *Lock) Probe(ctx context.Context) (locks.Servers, error) {
	prober, ok := l.store.(Prober)
	if !ok {
		return locks.Servers{}, &locks.UsageError{What: "this backend cannot tell how its servers are"}
	}
	bounded, cancel := l.workers.Until(ctx)
	defer cancel()
	found, err := prober.Probe(bounded, func(ctx context.Context, request func(context.Context) error) *locks.Error {
		if err := l.patiently(ctx, request); err != nil {
			return l.explain(err)
		}
		return nil
	})
	if bounded.Err() != nil {
		err = cmp.Or(err, bounded.Err())
	}
	if err != nil {
		return locks.Servers{}, l.fail(ctx, "probe "+l.traits.Probed, err)
	}
	return found, nil
}

var (
	_ locks.Able      = (*Lock)(nil)
	_ locks.Inspector = (*Lock)(nil)
	_ locks.Prober    = (*Lock)(nil)
)
