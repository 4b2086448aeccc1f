package caslease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// TestRefusedOnce: a request that the store refuses is not repeated.
func TestRefusedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		s.Fault(func(Request) Fault { return Fault{Err: refuse(causes.Refused, "no")} })
		if err := l.(locks.Asker).Ask(drive.Context(t), 1, []byte("x")); !errors.Is(err, locks.ErrUnavailable) {
			t.Errorf("got %v; want ErrUnavailable", err)
		}
		if n := verbs(s); len(n) != 1 || n["ask read"] != 1 {
			t.Errorf("requests: %v; want one read", n)
		}
	})
}

// TestRecordEndsWithTheLease: if the cell has changed and cannot be read, a write of the record
// is given up when the lease has ended.
func TestRecordEndsWithTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		o := options("a")
		l := at(t, s, o)
		drive.Hold(t, l)
		s.Fault(func(r Request) Fault {
			if r.Verb == "swap" {
				return Fault{Err: refuse(causes.Changed, "the cell has changed")}
			}
			return Fault{Err: refuse(causes.Unknown, "Backend Error")}
		})
		start := time.Now()
		err := l.(locks.Recorder).SetRecord(drive.Context(t), []byte("x"))
		if took := time.Since(start); !errors.Is(err, locks.ErrLost) || took > o.TTL+3*time.Second {
			t.Errorf("after %v: %v; want ErrLost within 3s after the lease of %v", took, err, o.TTL)
		}
	})
}

// TestReleaseReadsAtOnce: if the cell has changed, a release reads it and writes again without a
// pause.
func TestReleaseReadsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		s.Edit(leaseCell, func(*caslease.Cell) {})
		start := time.Now()
		drive.Release(t, l)
		if took := time.Since(start); took > 10*latency {
			t.Errorf("the release took %v; want three requests without a pause", took)
		}
	})
}

// TestReleasePauses: if the store goes on to say that the cell has changed, a release does not keep
// it busy. Usually a release is one request.
func TestReleasePauses(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		verbs(s)
		drive.Release(t, l)
		if n := verbs(s); len(n) != 1 || n["swap"] != 1 {
			t.Errorf("requests: %v; want one swap", n)
		}
		l = at(t, s, options("a"))
		drive.Hold(t, l)
		s.Next("swap", Fault{Err: refuse(causes.Unknown, "Backend Error")})
		start := time.Now()
		if drive.Release(t, l); time.Since(start) < 10*latency {
			t.Errorf("after an error, it was sent again in %v", time.Since(start))
		}
		l = at(t, s, options("a"))
		drive.Hold(t, l)
		verbs(s)
		s.Fault(stubborn)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := l.Release(ctx); !errors.Is(err, locks.ErrUnavailable) {
			t.Errorf("release: %v", err)
		}
		if n := verbs(s); n["read"]+n["swap"] > 50 {
			t.Errorf("requests: %v; want at most 50", n)
		}
	})
}
