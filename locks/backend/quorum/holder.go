package quorum

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
)

// tally counts the voters that have done what was asked, that are not bound as the asker says, and
// why others refuse.
func (v *view) tally() (done, not int, refusal string) {
	for _, r := range v.replies {
		switch {
		case !v.counts(r):
		case r.Done:
			done++
		case r.Refusal != "":
			refusal = r.Refusal
		case r.Opens == 0 && r.Why == "":
			not++
		}
	}
	return done, not, refusal
}

// decided reports whether a majority has done it, or so many have not that none can.
func (v *view) decided() bool {
	done, not, refusal := v.tally()
	majority := v.settings.group.Majority()
	return done >= majority || not >= majority || refusal != "" && v.majority()
}

// Record implements [locks.Recorder].
func (l *Lock) Record(ctx context.Context) ([]byte, error) {
	const op = "read the record of"
	whole := func(v *view) (n int) {
		for _, r := range v.replies {
			if v.counts(r) && !r.Partial {
				n++
			}
		}
		return n
	}
	v, err := l.ask(ctx, wire.Call{Lock: l.o.Name, Read: true}, func(v *view) bool { return whole(v) >= v.settings.group.Majority() })
	if err != nil && whole(v) < l.settings.group.Majority() {
		return nil, l.fail(ctx, op, err)
	}
	if n := whole(v); n < l.settings.group.Majority() {
		return nil, l.fail(ctx, op, wire.Outage(fmt.Errorf("%d of %d voters have all records; new ones must first reach most of the others", n, l.settings.group.Seats)))
	}
	if r := record(v.entries(about)); r != nil {
		return []byte(r.Text), nil
	}
	return nil, nil
}

// SetRecord implements [locks.Recorder]. It returns when a majority has the record on its disks.
func (l *Lock) SetRecord(ctx context.Context, text []byte) error {
	if err := locks.CheckText(text); err != nil {
		return err
	}
	const op = "write the record of"
	_, token, leads := l.Term()
	if !leads {
		return l.fail(ctx, op, locks.LostError("the lock is not ours"))
	}
	l.mu.Lock()
	l.writes++
	r := &wire.Record{Token: token, Seq: l.writes, Text: string(text)}
	l.mu.Unlock()
	v, err := l.ask(ctx, wire.Call{Lock: l.o.Name, Write: r}, (*view).decided)
	switch done, not, refusal := v.tally(); {
	case done >= l.settings.group.Majority():
		return nil
	case not >= l.settings.group.Majority():
		return l.fail(ctx, op, locks.LostError("a majority of the voters is not bound to us"))
	case refusal != "":
		return l.fail(ctx, op, wire.Outage(fmt.Errorf("a voter refuses: %s", refusal)))
	case err != nil:
		return l.fail(ctx, op, err)
	}
	return l.fail(ctx, op, wire.Outage(errors.New("no majority of the voters has written it")))
}

// Break implements [locks.Breaker]. The voters refuse the term from now on, but stay bound to it
// until its holder withdraws it, when its job is dead, or the lease ends: two holders never
// overlap.
func (l *Lock) Break(ctx context.Context, token uint64) error {
	v, err := l.ask(ctx, wire.Call{Lock: l.o.Name, End: token}, (*view).decided)
	switch done, not, _ := v.tally(); {
	case done >= l.settings.group.Majority():
		return nil
	case not >= l.settings.group.Majority():
		return l.fail(ctx, "break", locks.LostError("this is not the present term"))
	case err != nil:
		return l.fail(ctx, "break", err)
	}
	return l.fail(ctx, "break", wire.Outage(errors.New("no majority of the voters has done it")))
}

// Forget implements [locks.Forgetter]. All voters must answer: one that has missed it would bring
// the record back.
func (l *Lock) Forget(ctx context.Context) error {
	all := l.settings.group.Seats
	complete := func(v *view) bool { return len(v.replies) == all }
	v, err := l.ask(ctx, wire.Call{Lock: l.o.Name, Read: true}, complete)
	if err != nil {
		return l.fail(ctx, "forget", err)
	}
	if st, _ := v.holder(v.entries(about)); st.Held {
		return l.fail(ctx, "forget", &locks.HeldError{Status: st})
	}
	seen := record(v.entries(about))
	if seen == nil {
		seen = new(wire.Record)
	}
	v, err = l.ask(ctx, wire.Call{Lock: l.o.Name, Forget: &wire.Record{Token: seen.Token, Seq: seen.Seq}}, complete)
	switch done, not, refusal := v.tally(); {
	case done == all:
		return nil
	case refusal != "":
		err = wire.Outage(fmt.Errorf("a voter refuses: %s", refusal))
	case not > 0:
		err = &locks.HeldError{Status: locks.Status{Held: true}}
	case err == nil:
		err = wire.Outage(fmt.Errorf("all %d voters must do it, and %d have", all, done))
	}
	return l.fail(ctx, "forget", err)
}

// Ask implements [locks.Asker]. It returns when a majority has answered.
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	if err := locks.CheckText(text); err != nil {
		return err
	}
	r := &wire.Request{ID: crand.Text(), Token: token, Text: string(text)}
	if _, err := l.ask(ctx, wire.Call{Lock: l.o.Name, Request: r}, (*view).majority); err != nil {
		return l.fail(ctx, "ask", err)
	}
	return nil
}

// maxFetched is how many requests a holder remembers.
const maxFetched = 64

// fetch gets a request that a voter has pointed out, from any voter, in the background.
func (l *Lock) fetch(id string) {
	_, token, leads := l.Term()
	l.mu.Lock()
	defer l.mu.Unlock()
	client := l.client
	if !leads || client == nil || slices.Contains(l.fetched, id) {
		return
	}
	l.fetched = append(l.fetched[max(0, len(l.fetched)-maxFetched+1):], id)
	_ = l.workers.Go(func(life context.Context) {
		ctx, cancel := context.WithTimeout(life, l.o.ConnectTimeout)
		defer cancel()
		call := &wire.Call{Group: l.settings.group, Space: l.settings.space, Lock: l.o.Name, Fetch: id}
		for _, result := range client.CallAll(ctx, call) {
			if reply := result.Reply; reply != nil && reply.Request != nil && reply.Request.ID == id && reply.Request.Token == token {
				l.Deliver(id, []byte(reply.Request.Text))
				return
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.fetched = slices.DeleteFunc(l.fetched, func(other string) bool { return other == id })
	})
}

var (
	_ locks.Recorder  = (*Lock)(nil)
	_ locks.Breaker   = (*Lock)(nil)
	_ locks.Forgetter = (*Lock)(nil)
	_ locks.Asker     = (*Lock)(nil)
)
