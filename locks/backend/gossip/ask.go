package gossip

import (
	"context"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
)

// A request is what somebody asks of the holder of a lock. It goes to the voters, in a
// look, and those that are bound to the holder pass it on.
type request struct {
	ID    string `json:"id"`
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
	r := &request{Lock: l.o.Name, Token: token, Text: string(text)}
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
	case r.Lock != l.o.Name || slices.Contains(l.requests, r.ID):
	case l.token == 0:
		l.early = &r
	case r.Token == l.token:
		l.requests = append(l.requests[max(0, len(l.requests)-maxRequests):], r.ID)
		select {
		case <-l.asked: // only the last one counts
		default:
		}
		l.asked <- []byte(r.Text)
	}
}

// maxRequests is how many requests a holder knows again.
const maxRequests = 64

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
