package gcs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

func breaks(t *testing.T, l locks.Lock, token uint64) error {
	t.Helper()
	return l.(locks.Breaker).Break(drive.Context(t), token)
}

// TestBreak takes the lock away: its holder is told so by its next renewal, and the
// next grant has a greater token and is not clean. One that follows on a release is.
func TestBreak(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	a, w := at(t, s, options("a")), at(t, s, options("operator"))
	g := drive.Hold(t, a)
	if err := a.(locks.Recorder).SetRecord(drive.Context(t), []byte("it ran")); err != nil {
		t.Fatal(err)
	}
	if err := breaks(t, w, g.Token+1); !errors.Is(err, locks.ErrLost) || !inspect(t, s).Held {
		t.Errorf("with another token: %v", err)
	}
	drive.Renew(t, a)
	if err := breaks(t, w, g.Token); err != nil || inspect(t, s).Held {
		t.Errorf("got %v, %+v", err, inspect(t, s))
	}
	if err := breaks(t, w, g.Token); !errors.Is(err, locks.ErrLost) {
		t.Errorf("once more: %v", err)
	}
	if err := renew(t, a); !errors.Is(err, locks.ErrLost) || !strings.Contains(err.Error(), "free") {
		t.Errorf("the holder renews: %v", err)
	}
	b := at(t, s, options("b"))
	next := drive.Hold(t, b)
	if st := inspect(t, s); next.Clean || next.Token <= g.Token || st.Start != locks.StartTakeover {
		t.Errorf("the next grant: %+v after %d, and %+v", next, g.Token, st)
	}
	if err := a.Release(drive.Context(t)); err != nil || inspect(t, s).Holder != "b" {
		t.Errorf("the old holder releases: %v, %+v", err, inspect(t, s))
	}
	if text, err := b.(locks.Recorder).Record(drive.Context(t)); string(text) != "it ran" || err != nil {
		t.Errorf("the record: %q, %v", text, err)
	}
	drive.Release(t, b)
	c := at(t, s, options("c"))
	if last := drive.Hold(t, c); !last.Clean || last.Token <= next.Token || inspect(t, s).Start != locks.StartClean {
		t.Errorf("after a release: %+v, and %+v", last, inspect(t, s))
	}
}

// catch keeps the next request of a kind from taking effect until late is closed.
func catch(s *gcstest.Server, verb string) (arrived, late chan struct{}) {
	arrived, late = make(chan struct{}), make(chan struct{})
	caught := false
	s.Fault(func(r gcstest.Request) gcstest.Fault {
		if caught || r.Verb != verb {
			return gcstest.Fault{}
		}
		caught = true
		close(arrived)
		return gcstest.Fault{Late: late}
	})
	return arrived, late
}

// TestBreakIsOneStep: a renewal that comes between the look and the write makes the
// service refuse it. The second look shows the same term, which is then ended; or
// another, which is not.
func TestBreakIsOneStep(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]bool{"renewed": false, "taken over": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gcstest.Start(t)
			a, b, w := at(t, s, options("a")), at(t, s, options("b")), at(t, s, patiently("operator"))
			g := drive.Hold(t, a)
			arrived, late := catch(s, "patch")
			done := make(chan error, 1)
			go func() { done <- w.(locks.Breaker).Break(context.Background(), g.Token) }()
			drive.Within(t, drive.Patience, arrived)
			if release {
				drive.Release(t, a)
				drive.Hold(t, b)
			} else {
				drive.Renew(t, a)
			}
			close(late)
			err := <-done
			if st := inspect(t, s); release && (!errors.Is(err, locks.ErrLost) || st.Holder != "b") || !release && (err != nil || st.Held) {
				t.Errorf("got %v, and afterwards %+v", err, st)
			}
		})
	}
}

// TestBreakUnheard: an answer that was lost is found out about by another look, and
// a refusal for coming too soon is no failure.
func TestBreakUnheard(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]gcstest.Fault{
		"no answer": {LoseReply: true}, "not heard": {Drop: true}, "twice": {Twice: true}, "too soon": {Status: 429, Reason: "rateLimitExceeded"}, "an error": {Status: 503},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gcstest.Start(t)
			a, w := at(t, s, options("a")), at(t, s, patiently("operator"))
			g := drive.Hold(t, a)
			s.Next("patch", f)
			start := time.Now()
			if err := breaks(t, w, g.Token); err != nil || inspect(t, s).Held {
				t.Errorf("got %v, %+v", err, inspect(t, s))
			}
			if took := time.Since(start); f.Status == 429 && took < time.Second {
				t.Errorf("refused for coming too soon, it came again within %v", took)
			}
			if next := drive.Hold(t, at(t, s, options("b"))); next.Clean {
				t.Error("the next grant is called clean")
			}
		})
	}
}

// TestBreakOfAnObjectThatIsNone changes nothing.
func TestBreakOfAnObjectThatIsNone(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	w := at(t, s, options("operator"))
	if err := breaks(t, w, 1); !errors.Is(err, locks.ErrLost) {
		t.Errorf("without an object: %v", err)
	}
	s.SetMetadata("p/jobs%2Fnightly", map[string]string{"leaderrun": `{"state":"held","nonce":"n","ttl_ms":0,"token":5}`})
	before, _ := s.Object("p/jobs%2Fnightly")
	start := time.Now()
	if err := breaks(t, w, 5); !errors.Is(err, locks.ErrUnavailable) || time.Since(start) > 2*time.Second {
		t.Errorf("an object that makes no sense: %v", err)
	}
	if after, _ := s.Object("p/jobs%2Fnightly"); after.Metageneration != before.Metageneration {
		t.Error("it was changed")
	}
}
