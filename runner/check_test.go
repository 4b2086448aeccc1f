package runner

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// Checks of a run that is over.

// did checks the whole trace.
func (r *rig) did(want ...string) {
	r.t.Helper()
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	if !slices.Equal(r.trace, want) {
		r.t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(r.trace, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// times returns all times at which something was recorded.
func (r *rig) times(what string) (at []time.Duration) {
	for _, e := range r.trace {
		if s, ok := strings.CutSuffix(e, " "+what); ok {
			d, _ := time.ParseDuration(s)
			at = append(at, d)
		}
	}
	return at
}

// when returns the time at which something was first recorded. It fails the test if it was
// not recorded.
func (r *rig) when(what string) time.Duration {
	r.t.Helper()
	at := r.times(what)
	if len(at) == 0 {
		r.t.Fatalf("got %q; want a %q", r.trace, what)
	}
	return at[0]
}

// within checks that a time is in a range.
func (r *rig) within(at, from, to time.Duration) {
	r.t.Helper()
	if at < from || at > to {
		r.t.Errorf("got it at %v, want from %v to %v", at, from, to)
	}
}

// ran returns a trace that begins and ends as usual, with special entries in between.
func ran(at time.Duration, what ...string) []string {
	what = append([]string{"0s open", "0s acquire", "0s start"}, what...)
	return append(what, at.String()+" release", at.String()+" close")
}

// ended checks the result of a run whose job ended under the lock.
func (r *rig) ended(exit proc.Exit, err error, want proc.Exit) {
	r.t.Helper()
	if err != nil || exit != want {
		r.t.Errorf("Run: got %v, %v; want %v, nil", exit, err, want)
	}
}

// failed checks the result of a run that failed.
func (r *rig) failed(exit proc.Exit, err, want error) {
	r.t.Helper()
	if !errors.Is(err, want) || exit != (proc.Exit{}) {
		r.t.Errorf("Run: got %v, %v; want the error %v", exit, err, want)
	}
	for _, class := range []error{locks.ErrHeld, locks.ErrLost, locks.ErrUnavailable, locks.ErrDenied, locks.ErrUsage} {
		cause := want == locks.ErrLost && class == locks.ErrUnavailable // of the last renewal
		if class != want && !cause && errors.Is(err, class) {
			r.t.Errorf("Run: got %v, which is also of class %v", err, class)
		}
	}
}

// kinds returns the kinds of the events so far.
func (r *rig) kinds() []event.Kind {
	r.mu.Lock()
	defer r.mu.Unlock()
	var k []event.Kind
	for _, e := range r.events {
		k = append(k, e.Kind)
	}
	return k
}

// logged returns the messages at a level, each with its error. It leaves out that the rig has
// no socket.
func (r *rig) logged(level slog.Level) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var m []string
	for _, rec := range r.log {
		if rec.Level != level || strings.Contains(rec.Message, "leaderrun check") {
			continue
		}
		text := rec.Message
		rec.Attrs(func(a slog.Attr) bool {
			if a.Key == "err" {
				text += ": " + a.Value.String()
			}
			return true
		})
		m = append(m, text)
	}
	return m
}

// quiet checks that there were no warnings or errors.
func (r *rig) quiet() {
	r.t.Helper()
	if got := append(r.logged(slog.LevelWarn), r.logged(slog.LevelError)...); len(got) > 0 {
		r.t.Errorf("warnings and errors: %q, want none", got)
	}
}

// warned checks the warnings.
func (r *rig) warned(want ...string) {
	r.t.Helper()
	if got := r.logged(slog.LevelWarn); !slices.Equal(got, want) {
		r.t.Errorf("warnings:\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// emitted checks how many events of a kind there were.
func (r *rig) emitted(kind event.Kind, want int) {
	r.t.Helper()
	got := 0
	for _, e := range r.events {
		if e.Kind == kind {
			got++
		}
	}
	if got != want {
		r.t.Errorf("%d events %q, want %d", got, kind, want)
	}
}

// join joins texts.
func join[S ~string](s []S) string {
	var t []string
	for _, e := range s {
		t = append(t, string(e))
	}
	return strings.Join(t, ", ")
}
