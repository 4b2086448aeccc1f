package queue

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
)

// Ask implements [locks.Asker].
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	return l.Request(ctx, "ask the holder", func(ctx context.Context) error {
		if err := locks.CheckText(text); err != nil {
			return err
		}
		return l.store.Ask(ctx, token, handle.NewRequest(token, string(text)))
	})
}

// An Inbox receives the requests to one term.
type Inbox struct {
	Token uint64           // of the term
	Pause *backoff.Backoff // before the next call of WatchRequests
	inbox *handle.Inbox
}

// Deliver delivers a stored request, whoever wrote it, if it is for this term and was not
// delivered before. It reports whether the request is for a later term.
func (in *Inbox) Deliver(data []byte) (later bool) {
	r := handle.ReadRequest(data)
	if r != nil && r.Token == in.Token {
		in.inbox.Deliver(r.Nonce, []byte(r.Text))
	}
	return r != nil && r.Token > in.Token
}

// watchRequests delivers requests until the term is over. It begins after a delay, which
// spares short jobs the cost. If we are not allowed to read requests, none are delivered,
// and the lock is unaffected.
func (c *Campaign) watchRequests() {
	c.Spawn(func(ctx context.Context) {
		if backoff.Sleep(ctx, putOff) != nil {
			return
		}
		in := &Inbox{Token: c.Token(), Pause: new(backoff.Backoff), inbox: c.lock.Inbox}
		for {
			if err := c.entry.WatchRequests(ctx, in); err != nil {
				c.lock.Log.Info("cannot read requests to the holder", "err", c.lock.Plain(err))
				return
			}
			if in.Pause.Wait(ctx) != nil {
				return
			}
		}
	})
}

var _ locks.Asker = (*Lock)(nil)
