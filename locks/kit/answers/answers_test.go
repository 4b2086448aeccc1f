package answers_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/answers"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

var (
	errDown = errors.New("connection refused")
	errTime = errors.New("the time was up")
	errElse = errors.New("something else")
)

const ttl = 10 * time.Second

func bubble(t *testing.T, f func(t *testing.T, a *answers.Answers)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, answers.New(clock.Bubble{}, ttl, 4*time.Second)) })
}

func verdict(t *testing.T, a *answers.Answers, want error) {
	t.Helper()
	if got := a.Verdict(errElse); !errors.Is(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestVerdict: an answer counts for a while, whatever fails meanwhile, and then failures do.
func TestVerdict(t *testing.T) {
	bubble(t, func(t *testing.T, a *answers.Answers) {
		verdict(t, a, errElse)
		a.Failed(errDown, false)
		verdict(t, a, errDown)
		a.Held(locks.Status{Held: true, Holder: "bob"})
		a.Failed(errDown, false)
		time.Sleep(ttl - 1)
		held, ok := errors.AsType[*locks.HeldError](a.Verdict(nil))
		if !ok || held.Status.Holder != "bob" {
			t.Errorf("got %v", held)
		}
		a.Same()
		a.Failed(errTime, true)
		time.Sleep(ttl - 1)
		verdict(t, a, locks.ErrHeld)
		time.Sleep(time.Nanosecond)
		verdict(t, a, errElse)
		a.Failed(errDown, false)
		a.Failed(errTime, true)
		verdict(t, a, errDown)
	})
}

// TestLimit: the shortest lease counts, and no answer counts for longer than 15 s.
func TestLimit(t *testing.T) {
	for _, tt := range []struct{ ours, theirs, want time.Duration }{
		{time.Minute, 0, 15 * time.Second},
		{time.Minute, time.Hour, 15 * time.Second},
		{2 * time.Second, time.Hour, 2 * time.Second},
		{time.Minute, 3 * time.Second, 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := answers.New(clock.Bubble{}, tt.ours, time.Second)
			a.Held(locks.Status{Held: true, TTL: tt.theirs})
			time.Sleep(tt.want - 1)
			verdict(t, a, locks.ErrHeld)
			time.Sleep(time.Nanosecond)
			verdict(t, a, errElse)
		})
	}
}

// TestLook: a waiter looks once more before its time is up, if it must.
func TestLook(t *testing.T) {
	bubble(t, func(t *testing.T, a *answers.Answers) {
		a.Held(locks.Status{Held: true})
		const never = time.Duration(1<<63 - 1)
		for wait, want := range map[time.Duration]time.Duration{ttl - 1: never, ttl: 8 * time.Second, time.Hour: time.Hour - 2*time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			if got := a.Look(ctx); got != want {
				t.Errorf("a wait of %v: look after %v, want %v", wait, got, want)
			}
			cancel()
		}
		if got := a.Look(t.Context()); got != never {
			t.Errorf("a wait without an end: look after %v", got)
		}
		time.Sleep(ttl)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := a.Look(ctx); got != 0 {
			t.Errorf("look after %v, want at once", got)
		}
	})
}
