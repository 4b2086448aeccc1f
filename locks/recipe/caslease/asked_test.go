package caslease_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// looks renews a few times, and counts the reads of requests.
func looks(t *testing.T, s *sim, l locks.Lock) int {
	t.Helper()
	verbs(s)
	for range 3 {
		drive.Renew(t, l)
		time.Sleep(time.Second)
	}
	return verbs(s)["ask read"]
}

// TestAskedNot: a holder that will not resign does not read requests; others read them once after
// each renewal.
func TestAskedNot(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		for noResign, want := range map[bool]int{true: 0, false: 3} {
			o := options("a")
			o.NoResign = noResign
			l := at(t, s, o)
			drive.Hold(t, l)
			if n := looks(t, s, l); n != want {
				t.Errorf("%d reads of requests; want %d", n, want)
			}
			drive.Release(t, l)
		}
	})
}

// TestAskedDenied: a holder that is not allowed to read requests logs that once, and goes on
// renewing. A limit that was exceeded is not such a denial.
func TestAskedDenied(t *testing.T) {
	t.Parallel()
	for kind, want := range map[causes.Kind]int{causes.Denied: 1, causes.Throttled: 3, causes.Refused: 3} {
		t.Run("", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				var log drive.Log
				o := options("a")
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				l := at(t, s, o)
				drive.Hold(t, l)
				s.Fault(func(r Request) Fault {
					if r.verb() == "ask read" {
						return Fault{Err: refuse(kind, "no")}
					}
					return Fault{}
				})
				n, warnings := looks(t, s, l), strings.Count(log.String(), "level=WARN")
				if n != want || (warnings == 1) != (want == 1) || warnings > 1 {
					t.Errorf("%d reads of requests, and the log is:\n%s", n, log.String())
				}
			})
		})
	}
}

// TestCloseWaits: Close ends a read of requests, and waits for it.
func TestCloseWaits(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, patiently("a"))
		drive.Hold(t, l)
		never := make(chan struct{})
		s.Fault(func(r Request) Fault { return Fault{Hold: map[string]chan struct{}{"ask read": never}[r.verb()]} })
		drive.Renew(t, l)
		synctest.Wait()
		start := time.Now()
		_ = l.Close()
		if took := time.Since(start); took > 0 {
			t.Errorf("Close took %v", took)
		}
	}) // the bubble would find a read that went on
}

// TestAskedLast: a later request replaces one that nobody has received.
func TestAskedLast(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		g := drive.Hold(t, l)
		for _, text := range []string{"first", "second"} {
			ask(t, s, g.Token, text)
			drive.Renew(t, l)
			time.Sleep(time.Second)
		}
		if got := drive.Within(t, drive.Patience, l.(locks.Asker).Asked()); string(got) != "second" {
			t.Errorf("asked %q; want the second", got)
		}
	})
}
