package gcs_test

import (
	"errors"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

func forget(t *testing.T, l locks.Lock) error {
	t.Helper()
	return l.(locks.Forgetter).Forget(drive.Context(t))
}

// TestForget deletes the objects of the lock and no others, and also if there are
// none. Tokens rise even so.
func TestForget(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	w := at(t, s, options("operator"))
	s.SetMetadata("p/jobs%2Fnightly2", map[string]string{"k": "v"})
	s.SetMetadata("p/jobs", map[string]string{"k": "v"})
	var last uint64
	for _, end := range []string{"released", "broken", "dead"} {
		a := at(t, s, options("a"))
		g := drive.Hold(t, a)
		if g.Token <= last {
			t.Errorf("the token %d after %d", g.Token, last)
		}
		last = g.Token
		if err := a.(locks.Asker).Ask(drive.Context(t), g.Token, []byte("x")); err != nil {
			t.Fatal(err)
		}
		switch end {
		case "released":
			drive.Release(t, a)
		case "broken":
			if err := breaks(t, w, g.Token); err != nil {
				t.Fatal(err)
			}
		case "dead":
			s.Age("p/jobs%2Fnightly", time.Hour)
		}
		for range 2 {
			if err := forget(t, w); err != nil {
				t.Errorf("%s: %v", end, err)
			}
			if all := s.Objects("p/"); len(all) != 2 {
				t.Errorf("%s: left: %+v", end, all)
			}
		}
	}
}

// TestForgetHeld deletes nothing, and neither does it touch what is no lock.
func TestForgetHeld(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	a := at(t, s, options("a"))
	g := drive.Hold(t, a)
	for _, l := range []locks.Lock{a, at(t, s, options("operator"))} {
		err := forget(t, l)
		if h, ok := errors.AsType[*locks.HeldError](err); !ok || h.Status.Token != g.Token {
			t.Errorf("got %v", err)
		}
	}
	drive.Renew(t, a)
	if o, _ := s.Object("p/jobs%2Fnightly"); o.Metageneration != 2 {
		t.Errorf("the object was changed %d times", o.Metageneration)
	}
	drive.Release(t, a)
	s.SetMetadata("p/jobs%2Fnightly", map[string]string{"leaderrun": "?"})
	if err := forget(t, a); !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("an object that is no lock: %v", err)
	}
	if _, ok := s.Object("p/jobs%2Fnightly"); !ok {
		t.Error("an object that is no lock was deleted")
	}
}

// TestForgetTakenMeanwhile: who takes the lock between the look and the deletion
// keeps it.
func TestForgetTakenMeanwhile(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	a := at(t, s, options("a"))
	drive.Hold(t, a)
	drive.Release(t, a)
	arrived, late := catch(s, "delete")
	w, done := at(t, s, patiently("operator")), make(chan error, 1)
	go func() { done <- forget(t, w) }()
	drive.Within(t, drive.Patience, arrived)
	b := at(t, s, options("b"))
	g := drive.Hold(t, b)
	close(late)
	if err := <-done; !errors.Is(err, locks.ErrHeld) {
		t.Errorf("got %v", err)
	}
	drive.Renew(t, b)
	if st := inspect(t, s); st.Token != g.Token {
		t.Errorf("got %+v", st)
	}
}

// TestForgetUnheard: an answer that was lost is found out about by another look. If
// the deletion of a dead holder's lock is refused, the lock is free afterwards.
func TestForgetUnheard(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]gcstest.Fault{"no answer": {LoseReply: true}, "not heard": {Drop: true}, "twice": {Twice: true}, "too soon": {Status: 429, Reason: "rateLimitExceeded"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gcstest.Start(t)
			drive.Hold(t, at(t, s, options("a")))
			s.Age("p/jobs%2Fnightly", time.Hour)
			s.Next("delete", f)
			if err := forget(t, at(t, s, patiently("operator"))); err != nil || len(s.Objects("p/")) > 0 {
				t.Errorf("got %v; left: %+v", err, s.Objects("p/"))
			}
		})
	}
	s := gcstest.Start(t)
	drive.Hold(t, at(t, s, options("a")))
	s.Age("p/jobs%2Fnightly", time.Hour)
	s.Next("delete", gcstest.Fault{Status: 403, Reason: "forbidden", Message: "no storage.objects.delete"})
	if err := forget(t, at(t, s, options("operator"))); !errors.Is(err, locks.ErrDenied) || inspect(t, s).Held {
		t.Errorf("got %v, and afterwards %+v", err, inspect(t, s))
	}
}
