package run

import (
	"context"
	"log/slog"
	"net/url"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/slots"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A host is our session as a [runner.Host].
type host struct {
	*session
	backend *url.URL
	runID   string
	log     *slog.Logger
	nested  *nest
	metrics *exporter // nil: there are none

	mu sync.Mutex // guards session.guard
}

// Open opens the lock, or one of its slots.
func (h *host) Open(ctx context.Context, waiting func(locks.Waiting)) (locks.Lock, error) {
	o := locks.Options{
		Name:           h.opt.Lock,
		Holder:         h.opt.ID,
		TTL:            h.opt.TTL.D,
		ConnectTimeout: h.opt.ConnectTimeout.D,
		Version:        h.env.Version,
		RunID:          h.runID,
		Priority:       h.opt.Priority.N,
		NoResign:       h.opt.NoResign,
		Advertise:      h.opt.Advertise,
		Logger:         h.log,
		Waiting:        waiting,
	}
	open := func(ctx context.Context, o locks.Options) (locks.Lock, error) {
		return h.env.Registry.Open(ctx, h.backend, o)
	}
	if !h.opt.Slots.Given {
		return open(ctx, o)
	}
	lock, err := slots.Open(ctx, h.opt.Slots.N, open, o)
	if err != nil {
		return nil, err // and not a nil *slots.Lock in an interface
	}
	return lock, nil
}

// Starter returns the guard that was begun while the options were read, for the first job, and
// begins another one for each later job.
func (h *host) Starter() (proc.Starter, error) {
	h.mu.Lock()
	first := h.guard
	h.guard = nil
	h.mu.Unlock()
	if first != nil {
		return first, nil
	}
	before := h.before
	if len(before) > 0 { // we may have adopted more of theirs, which /proc may hide
		before = nil
	}
	next := guard.Begin(before)
	if err := h.contain(next); err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// NotOfJob reports whether a process is leaderrun-monitor.
func (h *host) NotOfJob(pid int) bool { return h.metrics.is(pid) }

// IsOuter reports whether the holder is a leaderrun in whose job we run.
func (h *host) IsOuter(s locks.Status) bool {
	_, ok := h.nested.holder(s)
	return ok
}

// Terminal implements [runner.Host].
func (h *host) Terminal() runner.Terminal { return h.signals.terminal() }
