package caslease

import (
	"cmp"
	"context"

	"github.com/leaderrun/leaderrun/locks"
)

// Probe implements [locks.Prober].
func (l *Lock) Probe(ctx context.Context) (locks.Servers, error) {
	prober, ok := l.store.(Prober)
	if !ok {
		return locks.Servers{}, &locks.UsageError{What: "this backend cannot report the state of its servers"}
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

var _ locks.Prober = (*Lock)(nil)
