// Package handle is what the handles on a lock have in common, whatever the backend. It is a
// package of its own because both recipes need it, and of its parts, so do backends without one.
package handle

import (
	"context"
	"errors"
	"log/slog"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A Handle is the part of a handle that does not depend on how its lock is kept. Who embeds it
// has the methods of [locks.Lock] and of the optional interfaces that are the same everywhere.
type Handle struct {
	*Inbox
	Options locks.Options
	Backend string // the scheme and the address, with the prefix, for messages
	Log     *slog.Logger
	Workers *workers.Workers
	// Losses has room for one. It is nil if only a renewal finds out about a loss.
	Losses chan error
	// Secrets are the variables that a job must not see: see [locks.SecretReader].
	Secrets []string
	// ExplainOther does what [Handle.Explain] does for an error without a [Class].
	ExplainOther func(error) (e *locks.Error, onlyTime bool)
}

// New returns a Handle for a backend, whose errors explain explains: see ExplainOther.
func New(backend string, o locks.Options, explain func(error) (*locks.Error, bool)) *Handle {
	return &Handle{
		Inbox: NewInbox(), Options: o, Backend: backend, Log: Logger(backend, o), Workers: workers.New(),
		Losses: make(chan error, 1), ExplainOther: explain,
	}
}

// Logger returns the log of a handle: the one of its options, or one that discards.
func Logger(backend string, o locks.Options) *slog.Logger {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return log.With("backend", backend, "lock", o.Name)
}

// Lost implements [locks.Lock].
func (h *Handle) Lost() <-chan error { return h.Losses }

// Location implements [locks.Located].
func (h *Handle) Location(context.Context) string { return h.Backend }

// SecretEnv implements [locks.SecretReader].
func (h *Handle) SecretEnv() []string { return h.Secrets }

// Class returns the class of an error that needs no explanation: [locks.ErrLost],
// [locks.ErrHeld] or [locks.ErrUsage]. For others it returns nil.
func Class(err error) error {
	for _, class := range []error{locks.ErrLost, locks.ErrHeld, locks.ErrUsage} {
		if errors.Is(err, class) {
			return class
		}
	}
	return nil
}

// Explain returns the class of an error, a text of one line and a hint, and whether nothing is
// known except that the time was up. An error with a [Class] stays as it is.
func (h *Handle) Explain(err error) (e *locks.Error, onlyTime bool) {
	if class := Class(err); class != nil {
		return &locks.Error{Class: class, Err: err}, false
	}
	return h.ExplainOther(err)
}

// Plain returns an explained error's text, for the log.
func (h *Handle) Plain(err error) string {
	e, _ := h.Explain(err)
	return e.Err.Error()
}

// Fail returns the error for the caller of a method: explained, with the operation and the
// lock. A *locks.HeldError stays as it is. If the caller's context has ended, the error wraps
// the context's error.
func (h *Handle) Fail(ctx context.Context, op string, err error) error {
	if held, ok := errors.AsType[*locks.HeldError](err); ok && ctx.Err() == nil {
		return held
	}
	e, onlyTime := h.Explain(err)
	e.Op, e.Backend, e.Name = op, h.Backend, h.Options.Name
	return e.Ended(ctx, onlyTime)
}

// Request calls f, which makes a request of the caller's, unless the caller's context has ended
// or the handle is closed. Either also ends f's context.
func (h *Handle) Request(ctx context.Context, op string, f func(context.Context) error) error {
	bounded, cancel := h.Workers.Until(ctx)
	defer cancel()
	err := bounded.Err()
	if err == nil {
		err = f(bounded)
	}
	if err == nil {
		return nil
	}
	return h.Fail(ctx, op, h.closed(ctx, err))
}

// closed returns ErrClosed if that is why err says that a context was canceled, or err.
func (h *Handle) closed(ctx context.Context, err error) error {
	if ctx.Err() == nil && errors.Is(err, context.Canceled) && h.Workers.Over() {
		return workers.ErrClosed
	}
	return err
}

// Watch runs f in the background, for a [locks.Watcher], until the caller's context ends or the
// handle is closed. It returns as soon as f calls begun, once. Then f sends to changes, which has room
// for one: see [workers.Poke].
func (h *Handle) Watch(ctx context.Context, f func(ctx context.Context, begun func(), changes chan<- struct{}) error) (<-chan struct{}, error) {
	changes, begun := make(chan struct{}, 1), make(chan error, 1)
	err := h.Workers.Go(func(closed context.Context) {
		defer close(changes)
		bounded, cancel := workers.Join(ctx, closed)
		defer cancel()
		err := f(bounded, func() { begun <- nil }, changes)
		begun <- h.closed(ctx, err) // nobody reads it after the first
	})
	if err == nil {
		err = <-begun
	}
	if err != nil {
		return nil, h.Fail(ctx, "watch", err)
	}
	return changes, nil
}

var (
	_ locks.Located      = (*Handle)(nil)
	_ locks.SecretReader = (*Handle)(nil)
)
