package gossip

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"hash/fnv"
	"net/netip"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/votes"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A watcher is told by the seat when its vote for a lock changes, or for any lock of the
// space if the name is empty.
type watcher struct {
	id    string
	at    netip.AddrPort
	lock  [2]string
	until clock.Instant
}

// watches is how long a watcher is told, and watching is how often it says that it still
// watches. Then it also learns what nobody tells: which leases have ended, and what it has
// missed.
const (
	watches  = 5 * time.Second
	watching = time.Second
)

// maxWatchers is how many watchers a seat knows.
const maxWatchers = 64

// watch notes a watcher. The caller holds s.mu.
func (s *seat) watch(p packet, now clock.Instant) {
	s.watchers = slices.DeleteFunc(s.watchers, func(w watcher) bool { return w.id == p.Look.Watch || now > w.until })
	if len(s.watchers) < maxWatchers {
		s.watchers = append(s.watchers, watcher{p.Look.Watch, p.From, [2]string{p.Space, p.Look.Lock}, now.Add(watches)})
	}
}

// told returns who is told of a change.
func (s *seat) told(space, lock string) (all []watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watchers {
		if w.lock == [2]string{space, lock} || w.lock == [2]string{space, ""} {
			all = append(all, w)
		}
	}
	return all
}

// mark returns a number that differs when votes that a watcher watches do. The caller holds
// s.mu.
func (s *seat) mark(watched [2]string, now clock.Instant) (sum uint64) {
	for lock, b := range s.locks {
		term, left := b.voter.Bound(now)
		if left == 0 || lock[0] != watched[0] || watched[1] != "" && lock[1] != watched[1] {
			continue
		}
		h := fnv.New64()
		_ = json.NewEncoder(h).Encode([]any{lock, term, b.token}) // it cannot fail
		sum += h.Sum64()                                          // in any order
	}
	return sum
}

// Watch implements [locks.Watcher].
func (l *Lock) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	what := look{Lock: l.o.Name, Watch: rand.Text()}
	if all {
		what.Lock = ""
	}
	told := make(chan struct{}, 1)
	l.hear(what.Watch, func(packet) { workers.Poke(told) })
	marks := map[string]uint64{}
	err := l.compare(ctx, what, marks, told)
	changes := make(chan struct{}, 1)
	if err == nil {
		err = l.workers.Go(func(life context.Context) {
			ctx, cancel := workers.Join(ctx, life)
			defer cancel()
			defer l.hear(what.Watch, nil)
			defer close(changes)
			tick := time.NewTicker(watching)
			defer tick.Stop()
			for {
				select {
				case <-told:
					workers.Poke(changes)
				case <-tick.C:
					_ = l.compare(ctx, what, marks, told) // tried again
				case <-ctx.Done():
					return
				}
			}
		})
	}
	if err != nil {
		l.hear(what.Watch, nil)
		return nil, l.fail(ctx, "watch", err)
	}
	return changes, nil
}

// compare compares the votes of each voter with its marks, which it updates.
func (l *Lock) compare(ctx context.Context, what look, marks map[string]uint64, differ chan<- struct{}) error {
	v := newView(l.settings.group)
	err := l.lookAt(ctx, what, v, nil, func() bool { return v.voted() >= v.group.Seats })
	if len(marks) > 2*votes.MaxSeats {
		clear(marks) // most of them are of voters that have ended
	}
	for voter, p := range v.answers {
		if was, known := marks[voter]; known && was != p.Found.Mark {
			workers.Poke(differ)
		}
		marks[voter] = p.Found.Mark
	}
	return err
}

var _ locks.Watcher = (*Lock)(nil)
