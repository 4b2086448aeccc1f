package runner

import (
	"context"
	"errors"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

const token = 7

// A handle is the locks.Lock of one attempt. Its rig decides what it does.
type handle struct {
	*rig
	n       int // of the attempt, from 1
	waiting func(locks.Waiting)
	over    bool
}

func (r *rig) open(_ context.Context, waiting func(locks.Waiting)) (locks.Lock, error) {
	r.note("open")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened++
	return &handle{rig: r, n: r.opened, waiting: waiting}, nil
}

// An acquisition is the behaviour of one Acquire.
type acquisition func(ctx context.Context, h *handle, try bool) (locks.Grant, error)

func (h *handle) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	h.note("acquire")
	return h.acquire[min(h.n, len(h.acquire))-1](ctx, h, try)
}

func (h *handle) Renew(ctx context.Context) error {
	h.mu.Lock()
	h.renewals++
	n := h.renewals
	h.mu.Unlock()
	return h.renew(n).run(ctx, h.server.renew)
}

func (h *handle) Release(ctx context.Context) error {
	h.note("release")
	if _, bounded := ctx.Deadline(); !bounded {
		h.t.Error("the release may take for ever")
	}
	for _, j := range h.jobs {
		if j.started != nil && !proc.IsClosed(j.gone) && !j.free() {
			h.t.Errorf("the lock is released, but something of %s is left", j.started.Path)
		}
	}
	return h.rig.release.run(ctx, func() error { h.server.release(); return nil })
}

func (h *handle) Lost() <-chan error { return h.lost }

func (h *handle) Asked() <-chan []byte                      { return h.asked }
func (h *handle) Ask(context.Context, uint64, []byte) error { return errors.ErrUnsupported }
func (h *handle) Permanent() bool                           { return h.permanent }

func (h *handle) SecretEnv() []string {
	return h.secrets
}

func (h *handle) Close() error {
	h.note("close")
	if h.over {
		h.t.Error("a lock was closed twice")
	}
	h.over = true
	h.closed++
	return nil
}

// A reply says what happens to a request. The zero reply is the server's own.
type reply struct {
	silent bool  // no answer, and the request is not served
	lost   bool  // no answer, but the request is served
	err    error // the answer; the server does not get the request
}

func (p reply) run(ctx context.Context, serve func() error) error {
	switch {
	case p.err != nil:
		return p.err
	case p.lost:
		_ = serve()
	case !p.silent:
		return serve()
	}
	<-ctx.Done()
	return ctx.Err()
}

var errDown = &locks.Error{Op: "acquire", Backend: "model", Name: "nightly", Class: locks.ErrUnavailable, Err: errors.New("connection refused")}

// Acquisitions.

// granted gets the lock at once.
func granted(_ context.Context, h *handle, _ bool) (locks.Grant, error) {
	h.server.grant()
	return locks.Grant{Token: token, TTL: h.server.ttl, Clean: true}, nil
}

// fails fails at once.
func fails(err error) acquisition {
	return func(context.Context, *handle, bool) (locks.Grant, error) { return locks.Grant{}, err }
}

// waits waits for a holder, and then continues like another acquisition.
func waits(d time.Duration, holder string, then acquisition) acquisition {
	return waitsFor(locks.Status{Held: true, Holder: holder}, d, then)
}

func waitsFor(status locks.Status, d time.Duration, then acquisition) acquisition {
	return func(ctx context.Context, h *handle, try bool) (locks.Grant, error) {
		if try {
			return locks.Grant{}, &locks.HeldError{Status: status}
		}
		h.waiting(locks.Waiting{Status: status})
		return hangs(d, then)(ctx, h, try)
	}
}

// hangs does nothing for a while, and then continues like another acquisition.
func hangs(d time.Duration, then acquisition) acquisition {
	return func(ctx context.Context, h *handle, try bool) (locks.Grant, error) {
		select {
		case <-time.After(d):
			return then(ctx, h, try)
		case <-ctx.Done():
			return locks.Grant{}, ctx.Err()
		}
	}
}

// stubborn is an acquisition that ignores the end of its context.
func stubborn(a acquisition) acquisition {
	return func(ctx context.Context, h *handle, try bool) (locks.Grant, error) {
		return a(context.WithoutCancel(ctx), h, try)
	}
}

var (
	_ locks.Lock         = (*handle)(nil)
	_ locks.Permanent    = (*handle)(nil)
	_ locks.Able         = (*handle)(nil)
	_ locks.Inspector    = (*handle)(nil)
	_ locks.Recorder     = (*handle)(nil)
	_ locks.SecretReader = (*handle)(nil)
)
