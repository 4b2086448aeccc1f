package gcs

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// holder has the lock "x" of an emulator.
func holder(t *testing.T, s *gcstest.Server, o locks.Options) *Lock {
	t.Helper()
	o.Name, o.TTL, o.ConnectTimeout = "x", maxTTL, drive.Patience
	l := drive.Open(t, Open, gcstest.URL(s.Addr(), "p").String(), o).(*Lock)
	drive.Hold(t, l)
	return l
}

// looks renews a few times, and counts the looks at what the holder is asked.
func looks(t *testing.T, s *gcstest.Server, l *Lock) (n int) {
	t.Helper()
	s.Requests()
	for range 3 {
		drive.Renew(t, l)
		l.looks.Wait()
	}
	for _, r := range s.Requests() {
		if strings.HasSuffix(r.Path, askSuffix) {
			n++
		}
	}
	return n
}

// TestAskedNot: who will not resign does not look, and others do so once for each
// renewal.
func TestAskedNot(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	l := holder(t, s, locks.Options{NoResign: true})
	if n := looks(t, s, l); n != 0 {
		t.Errorf("%d looks; want none", n)
	}
	drive.Release(t, l)
	if n := looks(t, s, holder(t, s, locks.Options{})); n != 3 {
		t.Errorf("%d looks; want 3", n)
	}
}

// TestAskedDenied: one who may not look is told so once, and renews. A limit that
// is exceeded is no such denial.
func TestAskedDenied(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]int{"forbidden": 1, "rateLimitExceeded": 3, "quotaExceeded": 3} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			s := gcstest.Start(t)
			var log drive.Log
			l := holder(t, s, locks.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			s.Fault(func(r gcstest.Request) gcstest.Fault {
				if strings.HasSuffix(r.Path, askSuffix) {
					return gcstest.Fault{Status: http.StatusForbidden, Reason: reason, Message: "no"}
				}
				return gcstest.Fault{}
			})
			n, warnings := looks(t, s, l), strings.Count(log.String(), "level=WARN")
			if n != want || (warnings == 1) != (want == 1) || warnings > 1 {
				t.Errorf("%d looks, and logged:\n%s", n, log.String())
			}
		})
	}
}

// TestCloseWaits for a look that it ends.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	l := holder(t, s, locks.Options{})
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	s.Fault(func(r gcstest.Request) gcstest.Fault {
		if strings.HasSuffix(r.Path, askSuffix) {
			return gcstest.Fault{Hold: never}
		}
		return gcstest.Fault{}
	})
	drive.Renew(t, l)
	_ = l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listening {
		t.Error("Close has returned, and a look goes on")
	}
}

// TestAskedLast: what nobody has received is replaced by what comes later.
func TestAskedLast(t *testing.T) {
	t.Parallel()
	l := holder(t, gcstest.Start(t), locks.Options{})
	for _, text := range []string{"first", "second"} {
		if err := l.Ask(drive.Context(t), l.term.record.Token, []byte(text)); err != nil {
			t.Fatal(err)
		}
		drive.Renew(t, l)
		l.looks.Wait()
	}
	if got := drive.Within(t, drive.Patience, l.Asked()); string(got) != "second" {
		t.Errorf("asked %q; want the second", got)
	}
}
