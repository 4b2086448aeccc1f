package voter

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// No lock file keeps a second host from having the same seat: an address moves, names differ, a
// machine was copied. So voters tell each other, at the start and each minute, which ids they have
// heard of in each seat. One that learns of another voter in its own seat abstains until nobody has
// heard of that for a while, and so does the other.
//
// An id has two parts, see [Voter.id]. A host that has booted again has a new second part. Two
// copies of a host have the same first part, and take turns with the second.
type sightings map[string]*sighting // by the first part

// A sighting is what was heard of a host in a seat.
type sighting struct {
	run  string        // the second part of the id
	at   clock.Instant // when it was heard of last
	old  []string      // second parts before that
	back string        // one of them that was heard of again, after another
	when clock.Instant // when that was
}

// compares is the pause between two comparisons, and recent is how long an id is remembered: long
// enough for some of them to fail.
const (
	compares = time.Minute
	recent   = 3 * time.Minute
)

// doubts is how long a voter abstains after it has heard of a rival: until it must have heard again
// of one that lives.
const doubts = compares * 3 / 2

// maxIDs is how many hosts of a seat, and how many runs of each, are remembered.
const maxIDs = 4

// saw notes the id of a voter in a seat. The caller holds v.mu.
func (v *Voter) saw(seat int, id string) {
	host, run, ok := strings.Cut(id, "-")
	if seat >= len(v.seen) || !ok {
		return
	}
	now := v.clock.Now()
	if v.seen[seat] == nil {
		v.seen[seat] = sightings{}
	}
	all := v.seen[seat]
	maps.DeleteFunc(all, func(_ string, s *sighting) bool { return now.Sub(s.at) > recent })
	s := all[host]
	switch {
	case s == nil && len(all) >= maxIDs:
		return
	case s == nil:
		s = &sighting{run: run}
		all[host] = s
	case s.run != run && slices.Contains(s.old, run):
		s.back, s.when = run, now
	case s.run != run:
		s.old = append(s.old[max(0, len(s.old)-maxIDs+1):], s.run)
		s.run = run
	}
	s.at = now
	if seat == v.c.Seat {
		v.rivals(v.sees()[seat])
	}
}

// sees returns what we have heard of ourselves. The caller holds v.mu.
func (v *Voter) sees() [][]string {
	now, all := v.clock.Now(), make([][]string, len(v.seen))
	for seat, hosts := range v.seen {
		for host, s := range hosts {
			if now.Sub(s.at) <= recent {
				all[seat] = append(all[seat], host+"-"+s.run)
			}
			if s.back != "" && now.Sub(s.when) <= recent {
				all[seat] = append(all[seat], host+"-"+s.back)
			}
		}
		slices.Sort(all[seat])
		all[seat] = slices.Compact(all[seat])
	}
	return all
}

// rivals takes ids that were heard of in our seat. One alone of our host may be that of our former
// self. The caller holds v.mu.
func (v *Voter) rivals(ids []string) {
	ours := 0
	for _, id := range ids {
		if strings.HasPrefix(id, v.state.id+"-") {
			ours++
		}
	}
	for _, id := range ids {
		if id == v.id() || id == "" || ours == 1 && strings.HasPrefix(id, v.state.id+"-") {
			continue
		}
		now := v.clock.Now()
		if now >= v.doubted {
			v.c.Log.Error("does not vote: another voter claims the same seat; stop one of them", "seat", v.c.Names[v.c.Seat], "id", v.id(), "reason", "the other is "+id)
		}
		v.rival, v.doubted = id, now.Add(doubts)
	}
}

// greeted takes what another voter says. The caller holds v.mu.
func (v *Voter) greeted(h *wire.Hello) {
	v.saw(h.Seat, h.ID)
	if v.c.Seat < len(h.Seen) {
		v.rivals(h.Seen[v.c.Seat])
	}
}

// How long a comparison waits for those that do not answer: before the first vote, nobody shall
// wait for long.
const (
	firstCompare   = time.Second
	longestCompare = 5 * time.Second
)

// compare exchanges ids with the other voters, once, until enough have answered. It reports how
// many have.
func (v *Voter) compare(ctx context.Context, client *wire.Client, enough int, limit time.Duration) (n int) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	v.mu.Lock()
	call := &wire.Call{Group: v.c.Group, Hello: &wire.Hello{Seat: v.c.Seat, ID: v.id(), Seen: v.sees()}}
	v.mu.Unlock()
	for seat, result := range client.CallAll(ctx, call) {
		if r := result.Reply; r != nil && r.Group == v.c.Group && r.Seat == seat {
			v.mu.Lock()
			v.greeted(&wire.Hello{Seat: seat, ID: r.ID, Seen: r.Seen})
			v.mu.Unlock()
			n++
		}
		if n >= enough {
			break
		}
	}
	return n
}

// gather takes the records of the others, when the voter is new, or its disk was. Until it has
// heard so many that each majority with a record has one of them, besides us, its records do not
// count.
func (v *Voter) gather(ctx context.Context, client *wire.Client) error {
	enough := v.c.Group.Seats - v.c.Group.Majority() + 1
	for seat := range v.c.Names {
		if seat == v.c.Seat {
			continue
		}
		if v.gatherFrom(ctx, client, seat) == nil {
			enough--
		}
	}
	if enough > 0 {
		return locks.ErrUnavailable
	}
	return v.state.finish()
}

func (v *Voter) gatherFrom(ctx context.Context, client *wire.Client, seat int) error {
	page := wire.Page{All: true}
	for {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		r, err := client.Call(ctx, seat, &wire.Call{Group: v.c.Group, List: &page})
		cancel()
		if err != nil {
			return err
		}
		if r.Group != v.c.Group || r.Seat != seat {
			return locks.ErrUnavailable
		}
		for _, e := range r.Entries {
			lock := [2]string{e.Space, e.Name}
			page.After = key(page, lock)
			if e.Record != nil && len(e.Name) <= votes.MaxName {
				if err := v.state.keep(lock, e.Record, v.isBound); err != nil {
					return err
				}
			}
		}
		if !r.More || len(r.Entries) == 0 {
			return nil
		}
	}
}
