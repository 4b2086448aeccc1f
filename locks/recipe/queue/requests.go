package queue

import (
	"context"
	"crypto/rand"
	"encoding/json"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A Request is how a [locks.Asker]'s text is stored until the holder has read it.
type Request struct {
	Token uint64 `json:"token"` // the holder's
	Nonce string `json:"nonce"` // distinguishes requests; a repeated attempt has the same one
	Text  string `json:"text"`
}

// NewRequest returns a request as it is stored.
func NewRequest(token uint64, text []byte) []byte {
	b, err := json.Marshal(Request{Token: token, Nonce: rand.Text(), Text: string(text)})
	if err != nil {
		panic("queue: a request of strings and numbers cannot be encoded: " + err.Error())
	}
	return b
}

// ReadRequest reads a stored request, whoever wrote it, and returns nil if it makes no
// sense.
func ReadRequest(data []byte) *Request {
	var r Request
	if len(data) > maxSize || json.Unmarshal(data, &r) != nil || len(r.Text) > locks.MaxRecord {
		return nil
	}
	return &r
}

// Ask implements [locks.Asker].
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	return l.request(ctx, "ask the holder", func() error {
		if err := locks.CheckText(text); err != nil {
			return err
		}
		return l.store.Ask(ctx, token, NewRequest(token, text))
	})
}

// Asked implements [locks.Asker].
func (l *Lock) Asked() <-chan []byte { return l.asked }

// An Inbox receives the requests to one term.
type Inbox struct {
	Token uint64           // of the term
	Pause *backoff.Backoff // before the next call of WatchRequests
	asked chan []byte
	last  string // the nonce of the last request that was delivered
}

// Deliver delivers a request, unless it is nil, for another term, or the same one again:
// its writer may have written it twice.
func (in *Inbox) Deliver(r *Request) {
	if r == nil || r.Token != in.Token || r.Nonce == in.last {
		return
	}
	in.last = r.Nonce
	workers.Replace(in.asked, []byte(r.Text)) // only the latest matters
}

// watchRequests delivers requests until the term is over. It begins after a delay, which
// spares short jobs the cost. If we are not allowed to read requests, none are delivered,
// and the lock is unaffected.
func (c *Campaign) watchRequests() {
	c.Spawn(func(ctx context.Context) {
		if backoff.Sleep(ctx, putOff) != nil {
			return
		}
		in := &Inbox{Token: c.Token(), Pause: new(backoff.Backoff), asked: c.lock.asked}
		for {
			if err := c.entry.WatchRequests(ctx, in); err != nil {
				c.lock.log.Info("cannot read requests to the holder", "err", c.lock.plain(err))
				return
			}
			if in.Pause.Wait(ctx) != nil {
				return
			}
		}
	})
}

var _ locks.Asker = (*Lock)(nil)
