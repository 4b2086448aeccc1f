package gossip

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A view is what a member sees of all that contend for its lock, the first one first.
type view []contender

type contender struct {
	name string
	addr netip.AddrPort
	card card
}

// view returns the present view.
func (l *Lock) view() (v view) {
	n := l.member()
	if n == nil {
		return nil
	}
	for name, m := range n.inSight() {
		if c, ok := decodeCard(m.meta); ok && c.Contends && c.Lock == l.card.Lock {
			v = append(v, contender{name, m.addr, c})
		}
	}
	slices.SortFunc(v, func(a, b contender) int {
		if l.settings.priority && a.card.Priority != b.card.Priority {
			return cmp.Compare(b.card.Priority, a.card.Priority)
		}
		return cmp.Or(cmp.Compare(a.card.Since, b.card.Since), cmp.Compare(a.name, b.name))
	})
	return v
}

// enough returns an error if a leader must see more members.
func (v view) enough(least int) error {
	if len(v) >= least {
		return nil
	}
	return fmt.Errorf("too few members are in sight: %d of min=%d", len(v), least)
}

// first returns who is to lead; the zero contender, if nobody contends.
func (v view) first() (c contender) {
	if len(v) > 0 {
		c = v[0]
	}
	return c
}

// leads returns those who lead, or still do.
func (v view) leads() (all view) {
	for _, c := range v {
		if c.card.Leads {
			all = append(all, c)
		}
	}
	return all
}

// led reports whether a member other than we leads.
func (v view) led(us string) bool {
	return slices.ContainsFunc(v.leads(), func(c contender) bool { return c.name != us })
}

// token returns the greatest token that anybody knows, and no less than the date, in
// milliseconds.
func (v view) token() uint64 {
	token := uint64(max(0, time.Now().UnixMilli()))
	for _, c := range v {
		token = max(token, c.card.Token)
	}
	return token
}

// status returns who leads, or else who is to lead.
func (v view) status() locks.Status {
	if len(v.leads()) == 0 && len(v) > 0 {
		return v[0].card.Label
	}
	return v.leader()
}

// leader returns who leads. If there are several, it is the first of them.
func (v view) leader() (st locks.Status) {
	if all := v.leads(); len(all) > 0 {
		st = all[0].card.Label
		st.Waiters = len(v) - len(all)
	}
	return st
}

// details says how old each member is. Now is on the fleet's timeline.
func (v view) details(now int64) (all []string) {
	for _, c := range v {
		what := "waits"
		if c.card.Leads {
			what = "leads"
		}
		age := time.Duration(now-c.card.Since) * time.Millisecond
		all = append(all, fmt.Sprintf("member at %v, there for %v, %s: %s", c.addr, age.Round(time.Second), what, c.card.Label.Holder))
	}
	return all[:min(len(all), locks.MaxDetails)]
}
