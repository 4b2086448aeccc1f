package gossip

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
)

// A request is what somebody asks of the holder of a lock. It goes to the voters, in a
// look, and those that are bound to the holder pass it on.
type request struct {
	Asker string `json:"asker"` // a handle
	Seq   uint64 `json:"seq"`   // of its requests, from 1
	Lock  string `json:"lock"`
	Token uint64 `json:"token"`
	Text  string `json:"text"`
}

// Ask implements [locks.Asker]. It returns when a majority has the request. Without votes,
// the request goes to all members, and may get lost.
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	if err := locks.CheckText(text); err != nil {
		return err
	}
	l.mu.Lock()
	l.asks++
	r := &request{Asker: l.id, Seq: l.asks, Lock: l.o.Name, Token: token, Text: string(text)}
	l.mu.Unlock()
	v := newView(l.settings.group)
	var err error
	if l.elder != nil {
		err = l.askElders(ctx, r)
	} else {
		err = l.look(ctx, v, r, func() bool { return v.voted() >= v.group.Majority() })
	}
	if err != nil {
		return l.fail(ctx, "ask", err)
	}
	return nil
}

// Asked implements [locks.Asker].
func (l *Lock) Asked() <-chan []byte { return l.asked }

// receive takes a request, of which each voter sends a copy. One that comes before Acquire
// has returned is kept until then.
func (l *Lock) receive(r request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case r.Lock != l.o.Name || r.Seq <= l.requests[r.Asker]: // a copy, or overtaken
	case l.token == 0:
		l.early = &r
	case r.Token == l.token:
		if len(l.requests) >= maxAskers {
			clear(l.requests)
		}
		l.requests[r.Asker] = r.Seq
		select {
		case <-l.asked: // only the last one counts
		default:
		}
		l.asked <- []byte(r.Text)
	}
}

// maxAskers is how many askers a holder knows.
const maxAskers = 64

// leads notes the token of the term, or 0 when it is over.
func (l *Lock) leads(token uint64) {
	l.mu.Lock()
	l.token = token
	early := l.early
	l.early = nil
	l.mu.Unlock()
	if early != nil && token > 0 {
		l.receive(*early)
	}
}

var _ locks.Asker = (*Lock)(nil)
