package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// A handle is the locks.Lock of one campaign: a correct backend on an unreliable network.
type handle struct {
	w       *world
	l       *leaderrun
	nonce   string
	waiting func(locks.Waiting)
	lost    chan error // nil: the handle does not watch

	token uint64 // 0: the lock is not ours
	held  bool   // Acquire has returned the grant
}

var errDead = errors.New("this leaderrun is dead")

func (l *leaderrun) Open(_ context.Context, waiting func(locks.Waiting)) (locks.Lock, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.host.campaigns++
	h := &handle{w: l.w, l: l, nonce: fmt.Sprintf("%d/%d", l.host.id, l.host.campaigns), waiting: waiting}
	if l.host.watches {
		h.lost = make(chan error, 1)
	}
	l.handle = h
	return h, nil
}

// call sends a request. It returns the answer if that arrives in time.
func (h *handle) call(ctx context.Context, do func() answer) (answer, error) {
	if !h.l.gate() {
		return answer{}, errDead
	}
	h.w.mu.Lock()
	f := h.l.host.delivery()
	h.w.mu.Unlock()
	got := make(chan answer, 1)
	h.w.done.Go(func() {
		time.Sleep(f.out)
		if f.lost {
			return
		}
		a := answer{err: locks.ErrUnavailable}
		if !f.refused {
			a = h.w.serve(do)
		}
		if !f.unanswered {
			time.Sleep(f.back)
			got <- a
		}
	})
	var a answer
	var err error
	select {
	case a = <-got:
		err = a.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-h.l.dead:
	}
	if !h.l.gate() {
		return answer{}, errDead
	}
	return a, err
}

// serve is the store's side of a request.
func (w *world) serve(do func() answer) answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.store.down {
		return answer{err: locks.ErrUnavailable}
	}
	return do()
}

// Acquire implements locks.Lock. Its requests have a nonce, so repeating one after an outage
// reads back the result.
func (h *handle) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	for n := 0; ; n++ {
		h.w.mu.Lock()
		changed := h.w.store.changed
		h.w.mu.Unlock()
		a, err := h.attempt(ctx)
		switch {
		case errors.Is(err, errDead):
			return locks.Grant{}, err
		case ctx.Err() != nil, err != nil && h.w.jittery && n%3 == 2:
			h.undo(ctx)
			return locks.Grant{}, errors.Join(locks.ErrUnavailable, ctx.Err())
		case err != nil:
			h.pause(ctx, nil, 300*time.Millisecond)
		case a.held == "":
			h.w.mu.Lock()
			h.token = a.grant.Token
			h.w.mu.Unlock()
			return a.grant, nil
		default:
			h.waiting(locks.Waiting{Status: locks.Status{Held: true, Holder: a.held}})
			h.pause(ctx, changed, h.w.timing.TTL/3)
		}
	}
}

// attempt is one request for the lock.
func (h *handle) attempt(ctx context.Context) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, max(h.w.timing.Attempt, 500*time.Millisecond))
	defer cancel()
	granted := false
	a, err := h.call(ctx, func() answer {
		a := h.w.store.acquire(h)
		granted = a.held == ""
		return a
	})
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if err != nil && granted {
		h.w.tally.faults[ambiguous]++
	}
	return a, err
}

// undo releases a lock that may have been granted. If that fails, the lease expires.
func (h *handle) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = h.call(ctx, func() answer { return h.w.store.release(h.nonce) })
}

// pause waits for a while, or until the lock becomes free.
func (h *handle) pause(ctx context.Context, news <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-news:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Renew implements locks.Lock.
func (h *handle) Renew(ctx context.Context) error {
	h.w.mu.Lock()
	token, held := h.token, h.held
	h.w.mu.Unlock()
	if token == 0 {
		return locks.ErrNoLease
	}
	if held && !h.l.isDead() {
		h.checkRenewal(h.l.answer(), token)
	}
	_, err := h.call(ctx, func() answer { return h.w.store.renew(h, token) })
	if errors.Is(err, errDead) {
		return locks.ErrLost
	}
	return err
}

// checkRenewal is called before a renewal is sent.
func (h *handle) checkRenewal(now socket.Answer, token uint64) {
	at := h.l.Now()
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if late := at.Sub(now.Deadline); late >= 0 && !h.l.jumped() {
		h.w.broken("no renewal after E", "token %d is renewed %v after the end of its lease", token, late)
	}
	h.w.checkDeadline(h.l, token, now.Deadline)
}

// Release implements locks.Lock.
func (h *handle) Release(ctx context.Context) error {
	if !h.l.gate() {
		return errDead
	}
	h.w.mu.Lock()
	for _, k := range h.w.works {
		if k.alive && k.token == h.token && !h.l.isDead() {
			h.w.broken("release only after the end", "the lock is released, and the job of token %d is alive", k.token)
		}
	}
	h.w.mu.Unlock()
	_, err := h.call(ctx, func() answer { return h.w.store.release(h.nonce) })
	return err
}

// evicted is called when a term was taken away. If the handle watches, it reports the loss.
// The caller holds mu.
func (h *handle) evicted(t *term) {
	if h.lost == nil || h.nonce != t.nonce || h.l.host.network != "" {
		return
	}
	h.w.done.Go(func() {
		time.Sleep(10 * time.Millisecond)
		if h.l.gate() {
			select {
			case h.lost <- locks.LostError("taken away"):
			default: // the loss was reported
			}
		}
	})
}

// Lost implements locks.Lock.
func (h *handle) Lost() <-chan error { return h.lost }

// Close implements locks.Lock.
func (h *handle) Close() error { return nil }

var _ locks.Lock = (*handle)(nil)
