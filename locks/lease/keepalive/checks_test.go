package keepalive_test

import (
	"context"
	"errors"
	"slices"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// hold acquires the lease or fails the test, and releases it in the end.
func (r *rig) hold() *keepalive.Lease {
	r.t.Helper()
	l, err := keepalive.Acquire(r.t.Context(), r, false, r.o)
	if err != nil {
		r.t.Fatalf("acquire: %v", err)
	}
	r.t.Cleanup(func() {
		if err := l.Release(context.Background()); err != nil {
			r.t.Errorf("release: %v", err)
		}
	})
	return l
}

// until sleeps, on Go's clock, until d after the start.
func (r *rig) until(d time.Duration) {
	time.Sleep(d - time.Since(r.start))
	synctest.Wait()
}

// wait sleeps, on Go's clock.
func (r *rig) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// e returns the deadline of a lease whose last renewal was sent at the given true time.
func (r *rig) e(sent time.Duration) clock.Instant { return r.boot.at(sent).Add(trusted) }

// did checks the times of all calls of one kind.
func (r *rig) did(op string, want ...time.Duration) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var got []time.Duration
	for _, c := range r.calls {
		if c.op == op {
			got = append(got, c.at)
		}
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("%s was called at %v, want %v", op, got, want)
	}
}

// deadline checks E.
func (r *rig) deadline(l *keepalive.Lease, want clock.Instant) {
	r.t.Helper()
	if got, ok := l.Deadline(); !ok || got != want {
		r.t.Errorf("deadline: got %v, %t; want %v, true", got.Sub(epoch), ok, want.Sub(epoch))
	}
}

// lives checks that the term continues.
func (r *rig) lives(l *keepalive.Lease) {
	r.t.Helper()
	select {
	case <-l.Done():
		r.t.Fatalf("the term has ended at %v: %v", r.now(), l.Err())
	default:
		if err := l.Err(); err != nil {
			r.t.Errorf("Err before Done: got %v, want nil", err)
		}
	}
}

// ends waits for the end of the term, checks when (in true time) and why it ended, and
// then waits until everything that the end started is done.
func (r *rig) ends(l *keepalive.Lease, at time.Duration, why error) {
	r.t.Helper()
	select {
	case <-l.Done():
	case <-time.After(time.Hour):
		r.t.Fatalf("the term did not end, want its end at %v", at)
	}
	if got := r.now(); got != at {
		r.t.Errorf("the term ended at %v, want %v", got, at)
	}
	r.is(l.Err(), why)
	synctest.Wait()
}

// is checks an error.
func (r *rig) is(got, want error) {
	r.t.Helper()
	if !errors.Is(got, want) {
		r.t.Errorf("got error %v, want %v", got, want)
	}
}

// seconds returns durations.
func seconds(s ...float64) []time.Duration {
	d := make([]time.Duration, len(s))
	for i := range s {
		d[i] = time.Duration(s[i]*1e6) * time.Microsecond
	}
	return d
}
