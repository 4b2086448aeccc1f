package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

func TestPausesGrowToASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b backoff.Backoff
		pause := func() time.Duration {
			start := time.Now()
			if err := b.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			return time.Since(start)
		}
		for want := 20 * time.Millisecond; want < 4*time.Second; want *= 2 {
			limit := min(want, time.Second)
			if got := pause(); got < limit/2 || got > limit {
				t.Errorf("paused for %v; want from %v to %v", got, limit/2, limit)
			}
		}
		b.AtLeast(2 * time.Second)
		if got := pause(); got < 2*time.Second || got > 4*time.Second {
			t.Errorf("paused for %v; want at least 2s", got)
		}
		b.Reset()
		if got := pause(); got > 20*time.Millisecond {
			t.Errorf("after Reset it paused for %v", got)
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	b := backoff.Backoff{Shortest: time.Millisecond, Longest: 3 * time.Millisecond}
	for _, want := range []time.Duration{1, 2, 3, 3} {
		if got := b.Next(); got != want*time.Millisecond {
			t.Errorf("got %v, want %d ms", got, want)
		}
		if err := b.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLeastPause: a pause of 1 ns cannot be halved.
func TestLeastPause(t *testing.T) {
	t.Parallel()
	b := backoff.Backoff{Shortest: 1, Longest: 1}
	if got := b.Take(); got < 0 || got > 1 {
		t.Errorf("got %v, want at most 1ns", got)
	}
}

func TestPausesEndWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := new(backoff.Backoff).Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := backoff.Sleep(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
