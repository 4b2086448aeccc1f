package gossip

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A ranking is what a member sees of all that contend for its lock, the first one first.
type ranking struct{ all []ranked }

type ranked struct {
	name string
	addr netip.AddrPort
	card card
}

// view returns the present ranking.
func (e *elder) view() ranking {
	e.l.mu.Lock()
	n := e.l.node
	e.l.mu.Unlock()
	var r ranking
	if n == nil {
		return r
	}
	for name, m := range n.inSight() {
		var c card
		if json.Unmarshal([]byte(m.meta), &c) == nil && c.Contends && c.Lock == e.card.Lock && (c.Label == nil || c.Label.modest()) {
			r.all = append(r.all, ranked{name, m.addr, c})
		}
	}
	slices.SortFunc(r.all, func(a, b ranked) int {
		if e.l.settings.priority && a.card.Priority != b.card.Priority {
			return cmp.Compare(b.card.Priority, a.card.Priority)
		}
		return cmp.Or(cmp.Compare(a.card.Since, b.card.Since), cmp.Compare(a.name, b.name))
	})
	return r
}

// askElders sends a request to all members that contend, a few times.
func (l *Lock) askElders(ctx context.Context, r *request) error {
	if err := l.join(ctx, false); err != nil {
		return err
	}
	if err := l.elder.greet(ctx); err != nil {
		return err
	}
	for range 3 {
		l.mu.Lock()
		n := l.node
		l.mu.Unlock()
		if n == nil {
			return workers.ErrClosed
		}
		for _, m := range l.elder.view().leads() {
			n.send(m.addr, packet{From: n.addr, Space: l.settings.space, Request: r}, nil)
		}
		if err := backoff.Sleep(ctx, again); err != nil {
			return err
		}
	}
	return nil
}

// first returns who is to lead, or nil.
func (r ranking) first() *ranked {
	if len(r.all) == 0 {
		return nil
	}
	return &r.all[0]
}

// leads returns those who lead, or still do.
func (r ranking) leads() (all []ranked) {
	for _, m := range r.all {
		if m.card.Leads {
			all = append(all, m)
		}
	}
	return all
}

// led reports whether a member other than we leads.
func (r ranking) led(us string) bool {
	return slices.ContainsFunc(r.leads(), func(m ranked) bool { return m.name != us })
}

// token returns the greatest token that anybody knows, and no less than the date.
func (r ranking) token() uint64 {
	token := today()
	for _, m := range r.all {
		token = max(token, m.card.Token)
	}
	return token
}

// status returns who leads, or else who is to lead.
func (r ranking) status() locks.Status {
	if len(r.leads()) == 0 && len(r.all) > 0 {
		return r.all[0].status()
	}
	return r.leader()
}

// leader returns who leads. If there are several, it is the first of them.
func (r ranking) leader() (st locks.Status) {
	if all := r.leads(); len(all) > 0 {
		st = all[0].status()
		st.Waiters = len(r.all) - len(all)
	}
	return st
}

// details says how old each member is. Now is on the fleet's timeline.
func (r ranking) details(now int64) (all []string) {
	for _, m := range r.all {
		what := "waits"
		if m.card.Leads {
			what = "leads"
		}
		age := time.Duration(now-m.card.Since) * time.Millisecond
		all = append(all, fmt.Sprintf("member at %v, there for %v, %s: %s", m.addr, age.Round(time.Second), what, m.card.Label.status().Holder))
	}
	return all[:min(len(all), locks.MaxDetails)]
}

func (m ranked) status() locks.Status {
	st := m.card.Label.status()
	st.Held, st.Token = true, m.card.Token
	return st
}
