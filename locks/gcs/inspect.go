package gcs

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
)

// Abilities implements [locks.Able].
func (l *Lock) Abilities(context.Context) ([]locks.Ability, error) {
	return []locks.Ability{locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanBreak, locks.CanProbe, locks.CanForget}, nil
}

// Inspect implements [locks.Inspector] by one look. A lease that seems to have
// run out is told as held: whether it has, one look cannot prove, and until
// somebody else takes the lock it may still be renewed.
func (l *Lock) Inspect(ctx context.Context) (locks.State, error) {
	v, err := l.glance(ctx, l.c)
	if err == nil && v.foreign != nil {
		err = &foreignError{l.c, v.foreign}
	}
	if err != nil {
		return locks.State{}, l.fail(ctx, "inspect", err)
	}
	return locks.State{Status: v.present()}, nil
}

// glance looks at an object, for somebody who need not have the lock. What may
// pass is tried again for as long as an answer may take.
func (l *Lock) glance(ctx context.Context, c *client) (*view, error) {
	ctx, done := l.untilClosed(ctx)
	defer done()
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	for pause := newBackoff(); ; {
		v, err := l.readOnce(ctx, c)
		if err == nil || !transient(err) || unreachable(err) || pause.Wait(ctx) != nil {
			return v, err
		}
	}
}

var (
	_ locks.Able      = (*Lock)(nil)
	_ locks.Inspector = (*Lock)(nil)
)
