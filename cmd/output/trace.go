package output

import (
	"log/slog"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/event"
)

// A Tracer prints each renewal, for whoever chooses a ttl: if the lowest that was
// ever left of the lease is most of it, a shorter one will do; if it comes near
// the time that stopping the job takes, a longer one is needed.
type Tracer struct {
	log *slog.Logger // nil: nobody wants to know

	mu     sync.Mutex
	lowest time.Duration // left in this term so far
}

// Tracer makes the one that the settings ask for, which are those of the Term.
func (t *Term) Tracer(wanted bool, s Settings) *Tracer {
	if !wanted {
		return &Tracer{}
	}
	return &Tracer{log: t.loggerAt(slog.LevelInfo, s)}
}

// Event learns of a new term.
func (t *Tracer) Event(e event.Event) {
	if e.Kind == event.Acquired && e.LeftMS != nil {
		t.mu.Lock()
		t.lowest = time.Duration(*e.LeftMS) * time.Millisecond
		t.mu.Unlock()
	}
}

// Renewed prints a renewal. The boot clock's readings are told as times of day.
func (t *Tracer) Renewed(r keepalive.Renewal) {
	if t.log == nil {
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
		t.log.Info("not renewed", append(args, "err", r.Err)...)
		return
	}
	t.log.Info("renewed", args...)
}
