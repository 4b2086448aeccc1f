package caslease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// A fleet is a few hosts that want one lock, and a server. Its clock may run a tenth too fast or
// too slow, and may be set forward. The hosts' clocks drift, and hosts are cut off from the server.
type fleet struct {
	*sim
	t     *testing.T
	rand  *rand.Rand // used by one goroutine
	start time.Time
	ttl   time.Duration
	rate  float64
	ends  context.Context

	mu    sync.Mutex
	ahead time.Duration     // by how much the server's clock was set forward
	cuts  map[int]time.Time // until when each host is, or was, cut off
	terms []term
}

// A term is how long a host has relied on the lock, in true time.
type term struct {
	host     int
	from, to time.Time
	lost     bool
	cut      bool // the host was cut off meanwhile
}

func (f *fleet) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.start.Add(time.Duration(float64(time.Since(f.start))*f.rate) + f.ahead)
}

// A drifting clock is that of a host, which is never slewed.
type drifting struct {
	start time.Time
	ppm   time.Duration
}

func (d drifting) Now() clock.Instant {
	passed := time.Since(d.start)
	return clock.Instant(passed + passed/1e6*d.ppm)
}

// lead gets the lock again and again, and relies on it for a while.
func (f *fleet) lead(host int, works func() time.Duration) {
	for f.ends.Err() == nil {
		traits := f.traits()
		traits.Clock = drifting{f.start.Add(-time.Hour), time.Duration(host-1) * 500}
		l := caslease.New(f.client(fmt.Sprint(host), "p"), traits, locks.Options{Name: lockName, Holder: fmt.Sprint(host), TTL: f.ttl, ConnectTimeout: 5 * time.Second})
		lease, err := keepalive.Acquire(f.ends, l, false, keepalive.Options{Interval: keepalive.Interval(f.ttl), Attempt: keepalive.Limit(f.ttl), Clock: traits.Clock})
		if err != nil {
			_ = l.Close()
			time.Sleep(time.Second)
			continue
		}
		x, work := term{host: host, from: time.Now()}, works()
		select {
		case <-lease.Done():
			x.lost = true
		case <-time.After(work):
		}
		x.to = time.Now()
		f.mu.Lock()
		x.cut = f.cuts[host].After(x.from)
		f.terms = append(f.terms, x)
		f.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = lease.Release(ctx) // otherwise its lease runs out
		cancel()
		_ = l.Close()
	}
}

// harm cuts a host off from time to time, and sets the server's clock forward.
func (f *fleet) harm(hosts int, steps bool) {
	for f.ends.Err() == nil {
		time.Sleep(f.upTo(f.ttl))
		if steps && f.rand.IntN(2) == 0 {
			f.mu.Lock()
			f.ahead += f.upTo(2 * f.ttl)
			f.mu.Unlock()
		}
		if f.rand.IntN(2) == 0 {
			host := f.rand.IntN(hosts)
			heal := f.sever(f.pathTo(fmt.Sprint(host)), lockstest.CutAll)
			f.cutUntil(host, time.Now().Add(time.Hour))
			time.Sleep(f.upTo(3 * f.ttl / 2))
			heal()
			f.cutUntil(host, time.Now())
		}
	}
}

func (f *fleet) cutUntil(host int, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cuts[host] = at
}

func (f *fleet) upTo(d time.Duration) time.Duration { return time.Duration(f.rand.Int64N(int64(d))) }

// overlap returns for how long two hosts have relied on the lock at once.
func (f *fleet) overlap() (most time.Duration) {
	slices.SortFunc(f.terms, func(a, b term) int { return a.from.Compare(b.from) })
	for i, a := range f.terms {
		for _, b := range f.terms[i+1:] {
			most = max(most, min(a.to.Sub(b.from), b.to.Sub(b.from)))
		}
	}
	return most
}

// TestWrongClocks: no clock of a server that runs a tenth too fast or too slow lets two hosts
// lead at once. A server's clock that is set forward never takes the lock from a host that
// renews. It may do so while the holder cannot renew for longer than a healthy one may be
// silent. So two may lead from then on until the holder's own deadline, and no longer.
// CLOCKS_SEED repeats one fleet.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	seeds := make([]uint64, 60)
	if tester.Long() {
		seeds = make([]uint64, 3000)
	}
	for n := range seeds {
		seeds[n] = uint64(n)
	}
	if text := os.Getenv("CLOCKS_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = []uint64{seed}
	}
	terms, worst := 0, time.Duration(0)
	for _, seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			f := &fleet{t: t, rand: r, start: time.Now(), cuts: map[int]time.Time{}}
			f.sim = newSim([]caslease.Expiry{caslease.ByClock, caslease.ByClock, caslease.ByStamps, caslease.ByWatching}[r.IntN(4)])
			f.clock, f.strict = f.now, r.IntN(2) == 0
			f.trusted = f.expiry != caslease.ByClock || r.IntN(4) == 0
			steps := !f.trusted && r.IntN(2) == 0
			f.rate = []float64{0.9, 1, 1.1}[r.IntN(3)]
			f.ttl = []time.Duration{2 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute}[r.IntN(4)]
			ends, cancel := context.WithTimeout(t.Context(), 8*f.ttl)
			defer cancel()
			f.ends = ends
			const hosts = 3
			var all sync.WaitGroup
			for host := range hosts {
				mine := rand.New(rand.NewPCG(seed, uint64(host)+1))
				all.Go(func() { f.lead(host, func() time.Duration { return time.Duration(mine.Int64N(int64(3 * f.ttl))) }) })
			}
			all.Go(func() { f.harm(hosts, steps) })
			all.Wait()
			allowed := time.Duration(0)
			if steps {
				allowed = keepalive.Trusted(f.ttl) - keepalive.Silence(f.ttl)
			}
			got := f.overlap()
			worst, terms = max(worst, got), terms+len(f.terms)
			about := fmt.Sprintf("CLOCKS_SEED=%d: %v, ttl %v, rate %v, set forward by %v", seed, f.expiry, f.ttl, f.rate, f.ahead)
			if got > allowed {
				t.Errorf("%s: two hosts lead for %v; want at most %v", about, got, allowed)
			}
			for _, x := range f.terms {
				if x.lost && !x.cut {
					t.Errorf("%s: host %d was robbed, but could renew all the time", about, x.host)
				}
			}
		})
	}
	t.Logf("%d terms; two hosts at once for at most %v", terms, worst)
}
