package quorum

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
)

// A view is what the voters have answered to a call, by seat.
type view struct {
	settings *settings
	replies  map[int]*wire.Reply
	failures map[int]error
}

// late is how long we wait for the other voters when enough have answered.
const late = 100 * time.Millisecond

// ask asks all voters, for ConnectTimeout at most, until all have answered, or for a moment after
// there are enough answers. If then a majority has answered, that is no error.
func (l *Lock) ask(ctx context.Context, call wire.Call, enough func(*view) bool) (*view, error) {
	v := &view{l.settings, map[int]*wire.Reply{}, map[int]error{}}
	client, err := l.begin(ctx)
	if err != nil {
		return v, err
	}
	call.Group, call.Space = l.settings.group, l.settings.space
	ctx, cancel := l.workers.Until(ctx)
	defer cancel()
	limited, stop := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer stop()
	for seat, r := range client.CallAll(limited, &call) {
		if r.Reply != nil && r.Reply.Seat != seat && v.counts(r.Reply) {
			r = wire.Result{Err: fmt.Errorf("a voter there has the seat %d", r.Reply.Seat+1)}
		}
		if v.failures[seat] = r.Err; r.Reply != nil {
			v.replies[seat] = r.Reply
		}
		if enough(v) || v.foreign() >= l.settings.group.Majority() {
			time.AfterFunc(late, stop)
		}
	}
	if !v.majority() {
		client.Resolve()
	}
	if err := v.lacks(); err != nil { // it says more than that the time is up
		return v, err
	}
	return v, ctx.Err()
}

// counts reports whether a reply is of our group.
func (v *view) counts(r *wire.Reply) bool { return r.Group == v.settings.group }

// foreign returns how many voters belong to another group.
func (v *view) foreign() (n int) {
	for _, r := range v.replies {
		if !v.counts(r) {
			n++
		}
	}
	return n
}

// voted returns how many voters of the group know what they have done, and are sure of it.
func (v *view) voted() (n int) {
	for _, r := range v.replies {
		if v.counts(r) && r.Opens == 0 && r.Why == "" {
			n++
		}
	}
	return n
}

// majority reports whether a majority of the group has answered.
func (v *view) majority() bool { return v.voted() >= v.settings.group.Majority() }

// entries returns what the voters know about a lock.
func (v *view) entries(of func(*wire.Reply) *wire.Entry) (all []*wire.Entry) {
	for _, r := range v.replies {
		if e := of(r); v.counts(r) && e != nil {
			all = append(all, e)
		}
	}
	return all
}

// holder returns who holds the lock that entries are about, and whether answers that are missing
// cannot change that. A voter that has just started may be the successor of one that has voted for
// the holder.
func (v *view) holder(entries []*wire.Entry) (st locks.Status, known bool) {
	majority, missing := v.settings.group.Majority(), v.settings.group.Seats-v.voted()
	bound := map[votes.Term]int{}
	most := 0
	for _, e := range entries {
		if e.Left > 0 && !e.Ended {
			bound[e.To]++
			most = max(most, bound[e.To])
		}
	}
	if most+missing < majority {
		return st, true
	}
	for _, e := range entries { // one of a majority knows the token
		if e.Left > 0 && !e.Ended && bound[e.To] == most && e.Token > 0 && (!st.Held || e.Token > st.Token || e.Label != nil && st.Holder == "") {
			st = e.Label.Status()
			st.Held, st.Token, st.Left = true, e.Token, e.Left
		}
	}
	return st, most >= majority
}

// record returns the newest record of entries, or nil.
func record(entries []*wire.Entry) (newest *wire.Record) {
	for _, e := range entries {
		if e.Record != nil && e.Record.Newer(newest) {
			newest = e.Record
		}
	}
	return newest
}

// lacks says what is missing to know the state of a lock; nil: nothing is.
func (v *view) lacks() error {
	foreign, starting, n := "", 0, v.settings.group.Seats
	var failure error
	for seat := range n {
		switch r := v.replies[seat]; {
		case r == nil:
			failure = cmp.Or(failure, v.failures[seat])
		case !v.counts(r):
			foreign = r.List
		case r.Opens > 0 || r.Why != "":
			starting++
		}
	}
	switch {
	case v.majority():
		return nil
	case foreign != "":
		return wire.Outage(fmt.Errorf("%d of %d voters have answered, and others have another list of seats: %s", v.voted(), n, foreign))
	case starting > 0:
		return wire.Outage(fmt.Errorf("%d of %d voters have just started, or cannot tell whether they alone have their seats, and do not vote yet", starting, n))
	case failure != nil:
		return wire.Outage(fmt.Errorf("no majority of the %d voters has answered: %d have; %w", n, v.voted(), failure))
	}
	return wire.Outage(fmt.Errorf("no majority of the %d voters has answered: %d have; see that their key is the same", n, v.voted()))
}

// about returns the entry about the lock of a call.
func about(r *wire.Reply) *wire.Entry { return r.Entry }

// Inspect implements [locks.Inspector]: it asks all voters to which term they are bound.
func (l *Lock) Inspect(ctx context.Context) (locks.State, error) {
	v, err := l.ask(ctx, wire.Call{Lock: l.o.Name}, func(v *view) bool {
		_, known := v.holder(v.entries(about))
		return known && v.majority()
	})
	if err != nil {
		return locks.State{}, l.fail(ctx, "inspect", err)
	}
	st, _ := v.holder(v.entries(about))
	return locks.State{Status: st, Details: v.details()}, nil
}

// details says how each seat votes.
func (v *view) details() (all []string) {
	for seat, name := range v.settings.names {
		r := v.replies[seat]
		if r == nil {
			all = append(all, fmt.Sprintf("%s does not answer", name))
			continue
		}
		vote := "votes for nobody"
		switch e := r.Entry; {
		case !v.counts(r):
			vote = "is not counted: it has another list of seats: " + r.List
		case r.Opens > 0:
			vote = fmt.Sprintf("does not vote for %v, because %s", r.Opens.Round(time.Second/10), r.Why)
		case r.Why != "":
			vote = "does not vote: " + r.Why
		case e != nil && e.Ended && e.Left > 0:
			vote = fmt.Sprintf("votes for nobody for %v, as %s lost the lock to an operator", e.Left.Round(time.Second/10), cmp.Or(e.Label.Status().Holder, e.To.Candidate))
		case e != nil && e.Left > 0:
			vote = fmt.Sprintf("votes for %s, for %v", cmp.Or(e.Label.Status().Holder, e.To.Candidate), e.Left.Round(time.Second/10))
		}
		all = append(all, fmt.Sprintf("%s, there for %v, %s", name, r.Age.Round(time.Second), vote))
	}
	return all
}

// List implements [locks.Lister]. A lock that is held is known to one of any majority.
func (l *Lock) List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	v, err := l.ask(ctx, wire.Call{List: &wire.Page{After: cursor}}, func(v *view) bool { return v.majority() })
	if err != nil {
		return nil, "", l.fail(ctx, "list", err)
	}
	names := map[string][]*wire.Entry{}
	for _, r := range v.replies {
		if !v.counts(r) {
			continue
		}
		if n := len(r.Entries); r.More && n > 0 && (next == "" || r.Entries[n-1].Name < next) {
			next = r.Entries[n-1].Name // this voter may know further names after it
		}
		for i := range r.Entries {
			if e := &r.Entries[i]; e.Space == l.settings.space && locks.CheckSlotName(e.Name) == nil {
				names[e.Name] = append(names[e.Name], e)
			}
		}
	}
	for _, name := range sorted(names) {
		if next != "" && strings.Compare(name, next) > 0 {
			break
		}
		if len(page) == locks.MaxList {
			return page, page[len(page)-1].Name, nil
		}
		st, _ := v.holder(names[name])
		r := record(names[name])
		if !st.Held && r == nil {
			continue
		}
		one := locks.Listed{Name: name, Status: st}
		if r != nil {
			one.Record = []byte(r.Text)
		}
		page = append(page, one)
	}
	return page, next, nil
}

func sorted(names map[string][]*wire.Entry) (all []string) {
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

var (
	_ locks.Inspector = (*Lock)(nil)
	_ locks.Lister    = (*Lock)(nil)
)
