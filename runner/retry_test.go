package runner

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A backend that cannot wait is asked repeatedly, with growing random pauses. A lock that is
// held is not a warning.
func TestPolling(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		held := fails(&locks.HeldError{Status: locks.Status{Holder: "bob"}})
		r.acquire = []acquisition{held, held, held, held, held, held, held, held, held, granted}
		r.job.begin = runs(time.Minute, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.within(r.when("start"), seconds(13.1), seconds(26.2)) // half, and all, of 0.2+0.4+0.8+1.6+3.2+4×5
		r.quiet()
	})
}

// The pauses double, up to 5 s, less a random part of up to half.
func TestPauses(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = []acquisition{fails(errDown)}
		r.wait(10 * time.Minute)
		_, _ = r.run()
		at := r.times("acquire")
		full := 0
		for i := range len(at) - 1 {
			most := min(firstPause<<min(i, 10), lastPause)
			pause := at[i+1] - at[i]
			r.within(pause, most/2, most)
			if pause > most*9/10 {
				full++
			}
		}
		if full == 0 || full > len(at)/2 {
			t.Errorf("%d of %d pauses are almost full, want a fifth", full, len(at))
		}
	})
}

// There is a warning when an outage begins, and at each new reason.
func TestOneWarningPerOutage(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		down, odd := fails(errDown), fails(errOdd)
		queue := waits(time.Minute, "bob", fails(errPlace))
		r.acquire = []acquisition{down, down, down, odd, odd, queue, down, down, granted}
		r.job.begin = runs(time.Minute, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		refused := `not possible yet, still trying: acquire "nightly" on model: connection refused`
		r.warned(refused, "not possible yet, still trying: unavailable: something odd", refused)
		r.emitted(event.Unavailable, 3)
	})
}

// If reasons alternate, each is a warning once. If each reason is new, the number of warnings is
// bounded.
func TestManyFacesOfAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = nil
		for n := range 100 {
			r.acquire = append(r.acquire, fails(errDown), fails(errOdd), fails(fmt.Errorf("port %d: %w", n, errOdd)))
		}
		r.acquire = append(r.acquire, granted)
		r.job.begin = runs(time.Minute, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.emitted(event.Unavailable, maxReasons)
	})
}

// Once the lock was ours, the settings are right: a refusal does not end the run.
func TestRefusedAfterTerm(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Rejoin = true
		r.restarts(Restart{})
		r.acquire = []acquisition{granted, fails(errNone), granted}
		r.at(10*time.Second, func() { r.server.evict(); r.lost <- locks.ErrLost })
		r.send(40*time.Second, syscall.SIGTERM)
		_, _ = r.run()
		if got := r.times("acquire"); len(got) != 3 {
			t.Errorf("acquired at %v", got)
		}
	})
}

// With -n, nothing is tried twice, so there are no warnings.
func TestNoWarningWithTry(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Try, r.acquire = true, []acquisition{fails(errDown)}
		_, _ = r.run()
		r.quiet()
	})
}
