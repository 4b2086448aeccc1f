package keepalive_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// The timing of most tests, and leaderrun's defaults.
const (
	ttl      = 15 * time.Second
	interval = 3 * time.Second
	limit    = 2 * time.Second
	trusted  = 14985 * time.Millisecond
	token    = 7
)

var errDown = errors.New("connection refused")

// A rig is a Lock that does what a test says, on a model of a server, and records every
// call.
type rig struct {
	*world
	t      *testing.T
	boot   skewed
	server *server
	o      keepalive.Options

	acquire func(ctx context.Context, try bool) (locks.Grant, error)
	renew   func(n int) step // the outcome of the n-th Renew, from 1
	release step
	lost    chan error
	network sync.WaitGroup

	renewing atomic.Int32 // calls of Renew that have not returned

	mu       sync.Mutex
	calls    []call
	count    map[string]int // of calls, by op
	renewals []keepalive.Renewal
	log      []slog.Record
}

// A call is one method of the Lock that was called.
type call struct {
	op    string
	at    time.Duration // true time
	limit time.Duration // until the end of its context; 0 if it has no limit
}

// bubble runs a test in its own world. Anything that still runs there at the end fails
// the test.
func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, newRig(t)) })
}

func newRig(t *testing.T) *rig {
	w := &world{start: time.Now()}
	r := &rig{world: w, t: t, boot: skewed{w: w}, server: &server{clock: skewed{w: w}, ttl: ttl}, count: map[string]int{}}
	r.acquire = r.atOnce(step{})
	r.renew = func(int) step { return step{} }
	r.lost = make(chan error, 1)
	r.o = keepalive.Options{Interval: interval, Attempt: limit, Clock: &r.boot, Logger: slog.New(recorder{r}), Renewed: r.renewed}
	t.Cleanup(r.network.Wait)
	return r
}

func (r *rig) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	r.note(ctx, "acquire")
	return r.acquire(ctx, try)
}

func (r *rig) Renew(ctx context.Context) error {
	n := r.note(ctx, "renew")
	r.renewing.Add(1)
	defer r.renewing.Add(-1)
	return r.renew(n).run(ctx, &r.network, r.server.renew)
}

func (r *rig) Release(ctx context.Context) error {
	r.note(ctx, "release")
	return r.release.run(ctx, &r.network, r.server.release)
}

func (r *rig) Lost() <-chan error { return r.lost }
func (r *rig) Close() error       { return nil }

// note records a call and returns how many of its kind there were so far.
func (r *rig) note(ctx context.Context, op string) int {
	c := call{op: op, at: r.now()}
	if end, ok := ctx.Deadline(); ok {
		c.limit = time.Until(end)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
	r.count[op]++
	return r.count[op]
}

func (r *rig) renewed(n keepalive.Renewal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.renewals = append(r.renewals, n)
}

// atOnce returns an Acquire that is granted a lease when its request arrives.
func (r *rig) atOnce(s step) func(context.Context, bool) (locks.Grant, error) {
	return func(ctx context.Context, _ bool) (locks.Grant, error) {
		if err := s.run(ctx, &r.network, r.server.grant); err != nil {
			return locks.Grant{}, err
		}
		return r.grant(), nil
	}
}

// after returns an Acquire that at once has a place in the queue, under a lease, and that
// has the lock after the given time.
func (r *rig) after(wait time.Duration) func(context.Context, bool) (locks.Grant, error) {
	return func(ctx context.Context, _ bool) (locks.Grant, error) {
		_ = r.server.grant()
		return r.turn(ctx, wait)
	}
}

// polling returns an Acquire without a queue, whose lease begins when it has the lock.
func (r *rig) polling(wait time.Duration) func(context.Context, bool) (locks.Grant, error) {
	return func(ctx context.Context, _ bool) (locks.Grant, error) {
		g, err := r.turn(ctx, wait)
		if err == nil {
			_ = r.server.grant()
		}
		return g, err
	}
}

func (r *rig) turn(ctx context.Context, wait time.Duration) (locks.Grant, error) {
	select {
	case <-time.After(wait):
		return r.grant(), nil
	case <-ctx.Done():
		return locks.Grant{}, ctx.Err()
	}
}

func (r *rig) grant() locks.Grant {
	return locks.Grant{Token: token, TTL: r.server.ttl, Clean: true}
}

// A recorder keeps what is logged.
type recorder struct{ r *rig }

func (recorder) Enabled(context.Context, slog.Level) bool { return true }
func (h recorder) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h recorder) WithGroup(string) slog.Handler          { return h }
func (h recorder) Handle(_ context.Context, rec slog.Record) error {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	h.r.log = append(h.r.log, rec)
	return nil
}

// logged returns the messages at or above a level.
func (r *rig) logged(level slog.Level) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var m []string
	for _, rec := range r.log {
		if rec.Level >= level {
			m = append(m, rec.Message)
		}
	}
	return m
}

var _ locks.Lock = (*rig)(nil)
