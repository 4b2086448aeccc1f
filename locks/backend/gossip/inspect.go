package gossip

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/votes"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// again is how often a look is sent until enough voters have answered.
const again = 100 * time.Millisecond

// Inspect implements [locks.Inspector]: it asks all voters to which term they are bound. A
// holder is bound to a majority of them.
//
// Without votes, it says who leads in the view of this member.
func (l *Lock) Inspect(ctx context.Context) (locks.State, error) {
	if l.elder != nil {
		err := l.join(ctx, false)
		if err == nil {
			err = l.elder.greet(ctx)
		}
		if err != nil {
			return locks.State{}, l.fail(ctx, "inspect", err)
		}
		v := l.elder.view()
		return locks.State{Status: v.leader(), Details: v.details(l.elder.now())}, nil
	}
	v, began := newView(l.settings.group), time.Now()
	err := l.look(ctx, v, nil, func() bool {
		_, known := v.holder()
		return known && (v.voted() >= v.group.Seats || time.Since(began) >= again) // others may be late
	})
	if err != nil {
		return locks.State{}, l.fail(ctx, "inspect", err)
	}
	st, _ := v.holder()
	return locks.State{Status: st, Details: v.details()}, nil
}

// look asks all voters, which pass a request on, until there are enough answers or
// ConnectTimeout has passed. If then a majority has answered, that is enough.
func (l *Lock) look(ctx context.Context, v *view, r *request, enough func() bool) error {
	return l.lookAt(ctx, look{Lock: l.o.Name}, v, r, enough)
}

func (l *Lock) lookAt(ctx context.Context, what look, v *view, r *request, enough func() bool) error {
	if err := l.join(ctx, false); err != nil {
		return err
	}
	ctx, cancel := l.workers.Until(ctx)
	defer cancel()
	what.ID = rand.Text()
	id, answers := what.ID, make(chan packet, 2*votes.MaxSeats)
	l.hear(id, func(p packet) {
		select {
		case answers <- p:
		default:
		}
	})
	defer l.hear(id, nil)
	late := time.NewTimer(l.o.ConnectTimeout)
	defer late.Stop()
	tick := time.NewTicker(again)
	defer tick.Stop()
	for sent := 0; ; {
		if sent++; !l.sendLook(what, r) {
			return locks.ErrUnavailable
		}
		for waiting := true; waiting; {
			select {
			case p := <-answers:
				if v.add(p); enough() {
					return nil
				}
			case <-tick.C:
				if waiting = false; sent > patience && v.voted() >= v.group.Majority() {
					return nil
				}
			case <-late.C:
				return v.lacks()
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// patience is how often a look is sent to voters that do not answer, where a majority does.
const patience = 3

func (l *Lock) hear(id string, f func(packet)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.looks[id] = f; f == nil {
		delete(l.looks, id)
	}
}

func (l *Lock) sendLook(what look, r *request) bool {
	l.mu.Lock()
	n, seeds := l.node, l.seeds
	l.mu.Unlock()
	if n != nil {
		n.ask(seeds, packet{From: n.addr, Space: l.settings.space, Look: &what, Request: r}, nil)
	}
	return n != nil
}

// A view is what voters have answered to a look.
type view struct {
	group   votes.Group
	asked   clock.Instant
	answers map[string]packet // by voter
}

func newView(g votes.Group) *view {
	return &view{group: g, asked: clock.Boot{}.Now(), answers: map[string]packet{}}
}

func (v *view) add(p packet) {
	if len(v.answers) < 2*votes.MaxSeats {
		p.at = clock.Boot{}.Now()
		v.answers[p.Found.Voter] = p
	}
}

// voted returns how many voters of the group have answered that know what they have done.
func (v *view) voted() (n int) {
	for _, p := range v.answers {
		if p.Found.Group == v.group && p.Found.opens() == 0 {
			n++
		}
	}
	return n
}

// holder returns who holds the lock, and whether answers that are missing cannot change
// that. A voter that has just started may be the successor of one that has voted for the
// holder.
func (v *view) holder() (st locks.Status, known bool) {
	missing := max(0, v.group.Seats-v.voted())
	bound := map[votes.Term]int{}
	most := 0
	for _, p := range v.answers {
		f := p.Found
		if f.Group != v.group || f.Left == 0 {
			continue
		}
		if bound[f.To]++; bound[f.To] > most {
			most = bound[f.To]
		}
	}
	if most+missing < v.group.Majority() {
		return st, true
	}
	for _, p := range v.answers { // one of a majority knows the token
		if f := p.Found; f.Left > 0 && f.Group == v.group && bound[f.To] == most && (!st.Held || f.Token > st.Token) {
			st = p.Label.status()
			st.Held, st.Token, st.Left = true, f.Token, f.Left
		}
	}
	return st, most >= v.group.Majority()
}

// details says how each voter votes.
func (v *view) details() (all []string) {
	for _, p := range v.answers {
		f, vote := p.Found, "votes for nobody"
		switch {
		case f.Group != v.group:
			vote = fmt.Sprintf("is not counted: expect=%d and longest=%v", f.Group.Seats, f.Group.Longest)
		case f.opens() > 0:
			vote = fmt.Sprintf("has just started, and votes in %v", f.opens().Round(time.Second/10))
		case f.Left > 0:
			vote = fmt.Sprintf("votes for %s, for %v", cmp.Or(p.Label.status().Holder, f.To.Candidate), f.Left.Round(time.Second/10))
		}
		all = append(all, fmt.Sprintf("voter at %v, there for %v, %s", p.From, f.Age.Round(time.Second), vote))
	}
	slices.Sort(all)
	return all[:min(len(all), locks.MaxDetails)]
}

// lacks says what is missing to know the state of a lock.
func (v *view) lacks() error {
	foreign, starting := 0, 0
	for _, p := range v.answers {
		switch f := p.Found; {
		case f.Group != v.group:
			foreign++
		case f.opens() > 0:
			starting++
		}
	}
	n := v.group.Seats
	switch {
	case v.voted() >= v.group.Majority():
		return nil
	case foreign > 0:
		return fmt.Errorf("%w: %d members have another expect= or longest=", locks.ErrUnavailable, foreign)
	case starting > 0:
		return fmt.Errorf("%w: %d of %d members have just started, and do not know what those before them voted", locks.ErrUnavailable, starting, n)
	}
	return fmt.Errorf("%w: no majority of the %d members: %d have answered", locks.ErrUnavailable, n, v.voted())
}

var _ locks.Inspector = (*Lock)(nil)
