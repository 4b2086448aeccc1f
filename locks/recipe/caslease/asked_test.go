package caslease_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// looks renews a few times, and counts the looks at what the holder is asked.
func looks(t *testing.T, s *sim, l locks.Lock) int {
	t.Helper()
	verbs(s)
	for range 3 {
		drive.Renew(t, l)
		time.Sleep(time.Second)
	}
	return verbs(s)["ask read"]
}

// TestAskedNot: who will not resign does not look, and others do so once for each
// renewal.
func TestAskedNot(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		for noResign, want := range map[bool]int{true: 0, false: 3} {
			o := options("a")
			o.NoResign = noResign
			l := at(t, s, o)
			drive.Hold(t, l)
			if n := looks(t, s, l); n != want {
				t.Errorf("%d looks; want %d", n, want)
			}
			drive.Release(t, l)
		}
	})
}

// TestAskedDenied: one who may not look is told so once, and renews. A limit that
// is exceeded is no such denial.
func TestAskedDenied(t *testing.T) {
	t.Parallel()
	for kind, want := range map[caslease.Kind]int{caslease.Denied: 1, caslease.Throttled: 3, caslease.Refused: 3} {
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
					t.Errorf("%d looks, and logged:\n%s", n, log.String())
				}
			})
		})
	}
}

// TestCloseWaits for a look that it ends.
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
	}) // a look that went on would be found by the bubble
}

// TestAskedLast: what nobody has received is replaced by what comes later.
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
