package queue

import (
	"cmp"
	"context"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/record"
)

// Record implements [locks.Recorder]. Whatever else is at fault with what somebody wrote
// there, it is not longer than a record may be.
func (l *Lock) Record(ctx context.Context) (text []byte, err error) {
	err = l.request(ctx, "read the record", func() (err error) { text, err = l.store.Record(ctx); return err })
	return Clip(text), err
}

// Clip returns what a record says, and no more than one may; nil stays nil.
func Clip(text []byte) []byte {
	if text == nil {
		return nil
	}
	return append([]byte{}, text[:min(len(text), locks.MaxRecord)]...)
}

// SetRecord implements [locks.Recorder].
func (l *Lock) SetRecord(ctx context.Context, text []byte) error {
	e, final := l.state()
	return l.request(ctx, "set the record", func() error {
		if err := cmp.Or(locks.CheckText(text), final); err != nil {
			return err
		}
		if e == nil || e.Token() == 0 {
			return errNotHeld
		}
		return e.judge(e.place.Write(ctx, text))
	})
}

// Ask implements [locks.Asker].
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	return l.request(ctx, "ask the holder", func() error {
		if err := locks.CheckText(text); err != nil {
			return err
		}
		return l.store.Ask(ctx, token, record.NewRequest(token, text))
	})
}

// Asked implements [locks.Asker].
func (l *Lock) Asked() <-chan []byte { return l.asked }

// An Ear is what a holder hears requests with.
type Ear struct {
	Token uint64           // ours
	Pause *backoff.Backoff // before the next attempt to listen
	asked chan []byte
	last  string // the nonce of the last request that was delivered
}

// Take delivers a request once, if it is for us: its writer may have written it twice.
func (x *Ear) Take(r *record.Request) {
	if r == nil || r.Token != x.Token || r.Nonce == x.last {
		return
	}
	x.last = r.Nonce
	select { // only the latest matters, and only we send
	case <-x.asked:
	default:
	}
	x.asked <- []byte(r.Text)
}

// hear delivers requests until the term is over. It begins late for the sake of short
// jobs. Who may not read them hears nothing, and holds the lock as ever.
func (e *Entry) hear() {
	e.Spawn(func(ctx context.Context) {
		if backoff.Sleep(ctx, lazily) != nil {
			return
		}
		for ear := (&Ear{Token: e.Token(), Pause: new(backoff.Backoff), asked: e.lock.asked}); ; {
			if err := e.place.Hear(ctx, ear); err != nil {
				e.lock.log.Info("cannot read requests to the holder", "err", e.lock.plain(err))
				return
			}
			if ear.Pause.Wait(ctx) != nil {
				return
			}
		}
	})
}

var (
	_ locks.Recorder = (*Lock)(nil)
	_ locks.Asker    = (*Lock)(nil)
)
