package output

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/event"
)

// A Tracer prints each renewal, to help choose a ttl. If most of the lease was left even at
// the lowest point, a shorter ttl is enough. If little more was left than stopping the job
// takes, the ttl must be longer.
type Tracer struct {
	runner.Unobserved
	Log *slog.Logger

	mu     sync.Mutex
	lowest time.Duration // the least time that was left of the lease, in this term
}

// Event begins anew with each term.
func (t *Tracer) Event(e event.Event) {
	if e.Kind == event.Acquired && e.LeftMS != nil {
		t.mu.Lock()
		t.lowest = time.Duration(*e.LeftMS) * time.Millisecond
		t.mu.Unlock()
	}
}

// Renewed prints a renewal. It shows readings of the boot clock as times of day.
func (t *Tracer) Renewed(r keepalive.Renewal) {
	if !t.Log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lowest = min(t.lowest, r.Left)
	now, boot := time.Now(), clock.Boot{}.Now()
	at := func(i clock.Instant) string { return now.Add(i.Sub(boot)).Format("15:04:05.000") }
	short := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	args := []any{"sent", at(r.Sent), "took", short(r.Done.Sub(r.Sent)), "deadline", at(r.Deadline),
		"left", short(r.Deadline.Sub(r.Done)), "lowest", short(t.lowest)}
	if r.Err != nil {
		t.Log.Debug("not renewed", append(args, "err", r.Err)...)
		return
	}
	t.Log.Debug("renewed", args...)
}
