package gossip

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A request is what somebody asks of the leader of a lock.
type request struct {
	ID    string `json:"id"`
	Lock  string `json:"lock"` // its topic
	Token uint64 `json:"token"`
	Text  string `json:"text"`
}

// Ask implements [locks.Asker]. The request goes to all that lead, a few times, and may get
// lost.
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	if err := locks.CheckText(text); err != nil {
		return err
	}
	if err := l.enter(ctx, false); err != nil {
		return l.fail(ctx, "ask", err)
	}
	b, _ := json.Marshal(request{rand.Text(), l.card.Lock, token, string(text)}) // it cannot fail
	for range 3 {
		n := l.member()
		if n == nil {
			return l.fail(ctx, "ask", workers.ErrClosed)
		}
		for _, c := range l.view().leads() {
			_ = n.list.SendToAddress(memberlist.Address{Addr: c.addr.String()}, b) // over UDP, once
		}
		if err := backoff.Sleep(ctx, 100*time.Millisecond); err != nil {
			return l.fail(ctx, "ask", err)
		}
	}
	return nil
}

// receive takes a request, of which there are copies.
func (l *Lock) receive(r request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Lock == l.card.Lock && l.card.Leads && r.Token == l.card.Token {
		l.Deliver(r.ID, []byte(r.Text))
	}
}

var _ locks.Asker = (*Lock)(nil)
