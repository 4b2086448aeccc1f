package queue

import (
	"cmp"
	"context"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// Abilities implements [locks.Able].
func (l *Lock) Abilities(context.Context) ([]locks.Ability, error) {
	all := []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanWatch, locks.CanBreak, locks.CanProbe, locks.CanForget,
	}
	if !l.traits.Unordered {
		all = append(all, locks.CanQueue)
	}
	return all, nil
}

// Inspect implements [locks.Inspector].
func (l *Lock) Inspect(ctx context.Context) (s locks.State, err error) {
	err = l.Request(ctx, "inspect", func(ctx context.Context) (err error) { s, err = l.store.Inspect(ctx); return err })
	return s, err
}

// Break implements [locks.Breaker]. The next in line leads, and the former holder, which
// watches its entry, notices that at once.
func (l *Lock) Break(ctx context.Context, token uint64) error {
	return l.Request(ctx, "break", func(ctx context.Context) error { return l.store.Break(ctx, token) })
}

// Forget implements [locks.Forgetter].
func (l *Lock) Forget(ctx context.Context) error {
	return l.Request(ctx, "forget", func(ctx context.Context) error { return l.store.Forget(ctx) })
}

// List implements [locks.Lister].
func (l *Lock) List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	err = l.Request(ctx, "list locks", func(ctx context.Context) (err error) { page, next, err = l.store.List(ctx, cursor); return err })
	return page, next, err
}

// Watch implements [locks.Watcher].
func (l *Lock) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	return l.Handle.Watch(ctx, func(ctx context.Context, begun func(), changes chan<- struct{}) error {
		return l.store.Watch(ctx, all, begun, func() { workers.Poke(changes) })
	})
}

// Probe implements [locks.Prober].
func (l *Lock) Probe(ctx context.Context) (s locks.Servers, err error) {
	err = l.Request(ctx, "probe", func(ctx context.Context) (err error) { s, err = l.store.Probe(ctx); return err })
	return s, err
}

// Record implements [locks.Recorder]. The text may be anybody's, but is never longer than a
// record may be.
func (l *Lock) Record(ctx context.Context) (text []byte, err error) {
	err = l.Request(ctx, "read the record", func(ctx context.Context) (err error) { text, err = l.store.Record(ctx); return err })
	return Clip(text), err
}

// Clip returns a copy of a record that is no longer than a record may be; nil stays nil.
func Clip(text []byte) []byte {
	if text == nil {
		return nil
	}
	return append([]byte{}, text[:min(len(text), locks.MaxRecord)]...)
}

// SetRecord implements [locks.Recorder].
func (l *Lock) SetRecord(ctx context.Context, text []byte) error {
	c, final := l.state()
	return l.Request(ctx, "set the record", func(ctx context.Context) error {
		if err := cmp.Or(locks.CheckText(text), final); err != nil {
			return err
		}
		if c == nil || c.Token() == 0 {
			return errNotHeld
		}
		return c.judge(c.entry.Write(ctx, text))
	})
}

var (
	_ locks.Able      = (*Lock)(nil)
	_ locks.Inspector = (*Lock)(nil)
	_ locks.Breaker   = (*Lock)(nil)
	_ locks.Forgetter = (*Lock)(nil)
	_ locks.Lister    = (*Lock)(nil)
	_ locks.Watcher   = (*Lock)(nil)
	_ locks.Prober    = (*Lock)(nil)
	_ locks.Recorder  = (*Lock)(nil)
)
