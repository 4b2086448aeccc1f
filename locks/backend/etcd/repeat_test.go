package etcd

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// A refusal is what the caller learns, even if the next attempt runs out of time.
func TestRepeatSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		refusal := retryElsewhere(errors.New("authentication failed"))
		attempts := 0
		err := (&client{members: 1}).repeat(ctx, new(backoff.Backoff), func(ctx context.Context) error {
			if attempts++; attempts == 1 {
				return refusal
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, refusal) || attempts != 2 {
			t.Errorf("got %v after %d attempts", err, attempts)
		}
	})
}
