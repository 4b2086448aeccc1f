package runner

import (
	"context"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A wait ends by the deadline of its context, even after the first answer, because backends
// treat a canceled context differently.
func TestWaitEndsByDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.wait(seconds(3))
		var got error
		r.acquire = []acquisition{func(ctx context.Context, h *handle, _ bool) (locks.Grant, error) {
			h.waiting(locks.Waiting{Status: locks.Status{Held: true, Holder: "bob"}})
			time.Sleep(time.Nanosecond) // real clocks move: the deadline of ctx is later than over
			<-ctx.Done()
			got = ctx.Err()
			return locks.Grant{}, got
		}}
		_, _ = r.run()
		if got != context.DeadlineExceeded {
			t.Errorf("got %v", got)
		}
	})
}
