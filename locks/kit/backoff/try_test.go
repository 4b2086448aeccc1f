package backoff_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

func TestTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for left, want := range map[time.Duration]time.Duration{
			10 * time.Second: 5 * time.Second, 2 * time.Second: time.Second, 1500 * time.Millisecond: time.Second, 300 * time.Millisecond: 300 * time.Millisecond,
		} {
			ctx, cancel := context.WithTimeout(t.Context(), left)
			start := time.Now()
			try, done := backoff.Try(ctx)
			<-try.Done()
			if got := time.Since(start); got != want {
				t.Errorf("with %v left, a try gets %v; want %v", left, got, want)
			}
			done()
			cancel()
		}
		try, done := backoff.Try(t.Context())
		if _, ok := try.Deadline(); ok {
			t.Error("a try has a deadline that nobody has set")
		}
		done()
		if try.Err() == nil {
			t.Error("a try does not end")
		}
	})
}
