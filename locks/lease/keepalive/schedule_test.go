package keepalive_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// seedVariable names the environment variable that replays one random schedule.
const seedVariable = "KEEPALIVE_SEED"

// schedules returns how many schedules TestSchedules tries.
func schedules() int {
	if os.Getenv("LEADERRUN_TEST_LONG") == "1" {
		return 3000
	}
	return 500
}

// TestSchedules checks the central claim of this package, on random schedules of delays,
// lost requests and answers, errors, evictions, suspends and clock rates: whenever a
// lease is not Done and its deadline has not come, the server's lease runs.
func TestSchedules(t *testing.T) {
	t.Parallel()
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
		synctest.Test(t, func(t *testing.T) { newSchedule(t, seed).run() })
		return
	}
	var ends, renewed int
	all := schedules()
	for range all {
		synctest.Test(t, func(t *testing.T) {
			s := newSchedule(t, rand.Uint64())
			s.run()
			if s.ended {
				ends++
			}
			renewed += s.advanced
		})
	}
	t.Logf("%d schedules: the deadline advanced %d times, %d terms ended early", all, renewed, ends)
	if ends < all/10 || ends > all*9/10 || renewed < 3*all {
		t.Error("these schedules are too easy, or too hard, to prove anything")
	}
}

// TestSchedulesCanFail: a clock that is wrong by more than ρ breaks the claim, and the
// checks must notice.
func TestSchedulesCanFail(t *testing.T) {
	t.Parallel()
	for _, ppm := range []int64{-100_000, -1200} {
		synctest.Test(t, func(t *testing.T) {
			s := newSchedule(t, 1)
			s.calm = true
			s.boot.ppm, s.server.clock.ppm = ppm, 0
			s.fail = func(string, ...any) { s.failed.Store(true) }
			s.run()
			if !s.failed.Load() {
				t.Errorf("a clock error of %d ppm was not noticed", ppm)
			}
		})
	}
}

// A schedule is one random course of events. Its own goroutine suspends the machine and
// looks at the lease. The rest of the randomness is in the outcomes of requests.
type schedule struct {
	*rig
	seed   uint64
	random *rand.Rand // used only by the schedule's own goroutine
	script *rand.Rand // used only by the network
	calm   bool       // no faults
	faults int        // percent of requests that go wrong
	fail   func(format string, args ...any)

	lease    atomic.Pointer[keepalive.Lease]
	last     clock.Instant // the deadline as last seen
	advanced int
	ended    bool // the term ended before its release
	failed   atomic.Bool
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	s := &schedule{
		rig:    newRig(t),
		seed:   seed,
		random: rand.New(rand.NewPCG(seed, 1)),
		script: rand.New(rand.NewPCG(seed, 2)),
	}
	s.fail = func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s=%d go test -count 1 -run 'TestSchedules$' ./locks/lease/keepalive\nat %v: "+format, append([]any{seedVariable, s.seed, s.now()}, args...)...)
	}
	s.boot.ppm, s.server.clock.ppm = s.rate(), s.rate()
	s.server.ttl = 2*time.Second + s.upTo(30*time.Second)
	s.server.lax = s.random.IntN(2) == 0
	s.faults = s.random.IntN(70)
	s.calm = s.random.IntN(8) == 0

	s.o.Interval = s.server.ttl / 5
	s.o.Attempt = s.server.ttl * 2 / 15
	if s.random.IntN(3) == 0 {
		s.o.Interval = time.Millisecond + s.upTo(s.server.ttl)
		s.o.Attempt = time.Millisecond + s.upTo(s.server.ttl)
	}
	wait := s.upTo(2 * s.server.ttl)
	s.acquire = []func(context.Context, bool) (locks.Grant, error){s.atOnce(s.step(1)), s.after(wait), s.polling(wait)}[s.random.IntN(3)]
	s.renew = s.step
	s.o.Renewed = func(n keepalive.Renewal) { s.check(n.Deadline) }
	return s
}

// upTo returns a random duration below d.
func (s *schedule) upTo(d time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(d)))
}

// rate returns a clock error within ρ, often the largest.
func (s *schedule) rate() int64 {
	return []int64{-500, 500, 0, s.random.Int64N(1001) - 500}[s.random.IntN(4)]
}

// step returns the outcome of a request.
func (s *schedule) step(int) step {
	if s.calm || s.script.IntN(100) >= s.faults {
		if s.script.IntN(2) == 0 {
			return step{}
		}
		return step{out: s.delay(20 * time.Millisecond), back: s.delay(20 * time.Millisecond)}
	}
	slow := step{out: s.delay(s.server.ttl), back: s.delay(s.server.ttl)}
	switch s.script.IntN(7) {
	case 0:
		return silence
	case 1:
		return step{unanswered: true, out: slow.out / 8}
	case 2:
		return step{err: errDown, back: slow.back / 8}
	case 3:
		slow.deaf = true
		return slow
	case 4:
		return step{out: slow.out / 8, back: slow.back / 8}
	case 5:
		if s.script.IntN(8) == 0 {
			_ = s.server.evict()
		}
		return step{}
	default:
		return slow
	}
}

func (s *schedule) delay(below time.Duration) time.Duration {
	return time.Duration(s.script.Int64N(int64(below)))
}

// Renew checks that nothing is renewed after the term or after E.
func (s *schedule) Renew(ctx context.Context) error {
	if l := s.lease.Load(); l != nil {
		e, _ := l.Deadline()
		if left := e.Sub(s.boot.Now()); left <= 0 || l.Err() != nil {
			s.fail("renewed with %v left and Err %v", left, l.Err())
		}
	}
	return s.rig.Renew(ctx)
}

// run is one campaign and, if it succeeds, one term.
func (s *schedule) run() {
	ctx, cancel := context.WithTimeout(s.t.Context(), 4*s.server.ttl)
	defer cancel()
	if !s.calm && s.random.IntN(4) == 0 { // the machine sleeps during the campaign
		defer time.AfterFunc(s.upTo(2*s.server.ttl), func() { s.suspend(s.server.ttl / 2) }).Stop()
	}
	lease, err := keepalive.Acquire(ctx, s, false, s.o)
	if err != nil {
		if s.calm {
			s.fail("acquire without faults: %v", err)
		}
		before := len(s.calls)
		s.wait(2 * s.server.ttl)
		if after := s.calls[before:]; len(after) > 0 {
			s.fail("after a failed campaign: %v", after)
		}
		return
	}
	s.server.promise()
	s.lease.Store(lease)
	e, _ := lease.Deadline()
	s.check(e)
	for end := s.now() + 6*s.server.ttl; s.now() < end && s.look(lease); {
		time.Sleep(s.upTo(s.server.ttl / 4))
		if !s.calm && s.random.IntN(40) == 0 {
			s.suspend(s.upTo(s.server.ttl * 3 / 2))
		}
	}
	const slow = 40 * time.Millisecond // for an answer without faults
	if s.calm && s.ended && s.o.Attempt > slow && s.o.Interval+slow < keepalive.Trusted(s.server.ttl) {
		s.fail("lost without faults: %v", lease.Err())
	}
	_ = lease.Release(context.Background())
	if err := lease.Err(); err == nil || lease.Release(context.Background()) != nil {
		s.fail("after the release: %v", err)
	}
}

// look checks the present state of the lease, and reports whether its term continues.
func (s *schedule) look(l *keepalive.Lease) bool {
	// Read in this order, because time and the attempt advance meanwhile.
	lapsed, _ := s.server.ended()
	now := s.boot.Now()
	e, _ := l.Deadline()
	err := l.Err()
	open := true
	select {
	case <-l.Done():
		open = false
	default:
	}
	switch {
	case lapsed && open && now < e && !s.server.isEvicted():
		s.fail("the server's lease has ended, but ours is trusted for another %v", e.Sub(now))
	case open != (err == nil) && open:
		s.fail("Err is %v before Done", err)
	case !open && l.Err() == nil:
		s.fail("Err is nil after Done")
	case e < s.last:
		s.fail("the deadline went back by %v", s.last.Sub(e))
	case open && now >= e.Add(2*time.Millisecond):
		time.Sleep(1001 * time.Millisecond)
		if l.Err() == nil {
			s.fail("the expiry was not noticed within a second")
		}
	}
	if e > s.last && s.last != 0 {
		s.advanced++
	}
	s.last, s.ended = e, !open
	return open
}

// check compares a deadline with the end of the server's lease. The server extends its
// lease before we learn of it.
func (s *schedule) check(e clock.Instant) {
	lapsed, end := s.server.ended()
	switch ours := s.boot.when(e); {
	case s.server.isEvicted(): // an operator did this, which is outside the claim
	case ours > end:
		s.fail("trusted until %v, beyond the end of the server's lease at %v", time.Duration(ours), time.Duration(end))
	case lapsed && s.boot.Now() < e:
		s.fail("trusted until %v although the server's lease ended before that", time.Duration(ours))
	}
}
