package voter

import (
	"cmp"
	"context"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
)

// answer answers a call. It blocks only for a watch, until ctx ends at the latest.
func (v *Voter) answer(ctx context.Context, c *wire.Call) *wire.Reply {
	var done bool
	var refusal error
	lock := [2]string{c.Space, c.Lock}
	switch { // what takes time
	case c.Group != v.c.Group:
	case c.Watch != nil:
		v.await(ctx, c)
	case c.Write != nil:
		done, refusal = v.write(lock, c.Write)
	case c.Forget != nil:
		done, refusal = v.discard(lock, c.Forget)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.describe()
	if c.Group != v.c.Group {
		return r
	}
	if r.Done = done; refusal != nil {
		r.Refusal = locks.Cut(refusal.Error(), 512)
	}
	if c.Lock != "" {
		r.Entry = v.entry(lock, c.Read || c.List != nil)
	}
	switch {
	case c.List != nil:
		r.Entries, r.More = v.page(c.Space, *c.List)
	case c.End > 0:
		r.Done = v.end(lock, c.End)
	case c.Request != nil:
		r.Done = v.leave(lock, c.Request)
	case c.Fetch != "":
		if b := v.locks[lock]; b != nil && b.request != nil && b.request.ID == c.Fetch {
			r.Request, b.request = b.request, nil
		}
	case c.Hello != nil:
		v.greeted(c.Hello)
	case c.Watch != nil:
		r.Mark = v.mark(lock, c.Watch.All)
	}
	return r
}

// describe says which voter this is. The caller holds v.mu.
func (v *Voter) describe() *wire.Reply {
	now := v.clock.Now()
	r := &wire.Reply{
		Seat: v.c.Seat, ID: v.id(), Group: v.c.Group, List: v.list(), Version: v.c.Version,
		Age: now.Sub(v.started), Opens: max(0, v.promises.head.Opens.Sub(now)), Why: locks.Cut(v.abstains(), 512), Time: time.Now(), Partial: !v.state.whole(),
		Seen: v.sees(),
	}
	r.Refused[0], r.Refused[1] = v.sealer.Refused()
	if r.Opens > 0 && r.Why == "" {
		r.Why = locks.Cut(cmp.Or(v.resumed, "the voter before it had just started"), 512)
	}
	if share, ok := Rate(); ok {
		r.Rate = &share
	}
	return r
}

// entry says what is known about a lock. The caller holds v.mu.
func (v *Voter) entry(lock [2]string, record bool) *wire.Entry {
	e := &wire.Entry{Space: lock[0], Name: lock[1]}
	if b := v.locks[lock]; b != nil {
		if e.To, e.Token, e.Left = b.voter.Bound(v.clock.Now()); e.Left > 0 {
			e.Label, e.Ended = b.label, b.voter.Ended()
		}
	}
	if record {
		e.Record = v.state.record(lock)
	}
	return e
}

// page returns the locks of a space, or of all, to which the voter is bound, or of which it has a
// record, in their order. The caller holds v.mu.
func (v *Voter) page(space string, p wire.Page) (page []wire.Entry, more bool) {
	var names [][2]string
	take := func(lock [2]string) {
		if (p.All || lock[0] == space) && key(p, lock) > p.After && !slices.Contains(names, lock) {
			names = append(names, lock)
		}
	}
	for lock := range v.locks {
		if v.bound(lock) {
			take(lock)
		}
	}
	for _, lock := range v.state.names() {
		take(lock)
	}
	slices.SortFunc(names, func(a, b [2]string) int { return strings.Compare(key(p, a), key(p, b)) })
	more = len(names) > locks.MaxList
	for _, lock := range names[:min(len(names), locks.MaxList)] {
		page = append(page, *v.entry(lock, true))
	}
	return page, more
}

// key is by what a page is in order.
func key(p wire.Page, lock [2]string) string {
	if p.All {
		return lock[0] + "\x00" + lock[1]
	}
	return lock[1]
}

// write keeps a record if its writer is the holder to whom the voter is bound, and still is when
// the record is on the disk: then the next holder finds it. If it is not, that is no refusal: the
// writer may have lost the lock.
func (v *Voter) write(lock [2]string, r *wire.Record) (done bool, refusal error) {
	holds := func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		b := v.locks[lock]
		if b == nil {
			return false
		}
		_, token, left := b.voter.Bound(v.clock.Now())
		return left > 0 && token == r.Token
	}
	if !holds() {
		return false, nil
	}
	if err := v.state.keep(lock, r, v.isBound); err != nil {
		return false, err
	}
	return holds(), nil
}

// isBound reports whether the voter is bound to a term for a lock.
func (v *Voter) isBound(lock [2]string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bound(lock)
}

// end ends the term with a token, and reports whether that is the present one.
func (v *Voter) end(lock [2]string, token uint64) bool {
	b := v.locks[lock]
	if b == nil || !b.voter.End(v.clock.Now(), token) {
		return false
	}
	if !v.note(v.promises.keep(lock, b.voter.Promise(), drift())) {
		return false
	}
	v.change()
	return true
}

// leave leaves a request for the holder with its token, and points it out.
func (v *Voter) leave(lock [2]string, r *wire.Request) bool {
	b := v.locks[lock]
	if b == nil {
		return false
	}
	_, token, left := b.voter.Bound(v.clock.Now())
	if left == 0 || token != r.Token {
		return false
	}
	b.request = r
	select {
	case v.point <- message{b.at, wire.Packet{Space: lock[0], Request: r.ID, Vote: votes.Message{Lock: lock[1]}}}:
	default: // its next renewal does it
	}
	return true
}

// discard deletes the record of a lock that nobody holds, up to the one that the caller has seen:
// a call may come late, or once more.
func (v *Voter) discard(lock [2]string, seen *wire.Record) (done bool, err error) {
	v.state.disk.Lock()
	defer v.state.disk.Unlock()
	if r := v.state.record(lock); v.isBound(lock) || r != nil && r.Newer(seen) {
		return false, nil
	}
	err = v.state.drop(lock)
	return err == nil, err
}

// longestWatch is how long a watch may take, and looks is how often it looks for leases that have
// ended.
const (
	longestWatch = 30 * time.Second
	looks        = time.Second
)

// await waits until what is watched has changed.
func (v *Voter) await(ctx context.Context, c *wire.Call) {
	ctx, cancel := context.WithTimeout(ctx, min(max(0, c.Watch.For), longestWatch))
	defer cancel()
	tick := time.NewTicker(looks)
	defer tick.Stop()
	for {
		v.mu.Lock()
		mark, changed := v.mark([2]string{c.Space, c.Lock}, c.Watch.All), v.changed
		v.mu.Unlock()
		if mark != c.Watch.Mark {
			return
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// mark returns a number that differs when what is watched does. The caller holds v.mu.
func (v *Voter) mark(watched [2]string, all bool) (sum uint64) {
	for lock, b := range v.locks {
		term, token, left := b.voter.Bound(v.clock.Now())
		if left == 0 || lock[0] != watched[0] || !all && lock[1] != watched[1] {
			continue
		}
		h := fnv.New64()
		_ = json.NewEncoder(h).Encode([]any{lock, term, token}) // it cannot fail
		sum += h.Sum64()                                        // in any order
	}
	return sum
}
