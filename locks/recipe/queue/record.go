package queue

import (
	"cmp"
	"context"

	"github.com/leaderrun/leaderrun/locks"
)

// Record implements [locks.Recorder]. The text may be anybody's, but is never longer than a
// record may be.
func (l *Lock) Record(ctx context.Context) (text []byte, err error) {
	err = l.request(ctx, "read the record", func() (err error) { text, err = l.store.Record(ctx); return err })
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
	return l.request(ctx, "set the record", func() error {
		if err := cmp.Or(locks.CheckText(text), final); err != nil {
			return err
		}
		if c == nil || c.Token() == 0 {
			return errNotHeld
		}
		return c.judge(c.entry.Write(ctx, text))
	})
}

var _ locks.Recorder = (*Lock)(nil)
