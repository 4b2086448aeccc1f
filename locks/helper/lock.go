package helper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

const (
	// withdrawTimeout bounds how long Acquire waits, once it was given up, for its helper
	// to clean up, and again to release what was granted.
	withdrawTimeout = 2 * time.Second
	// closeTimeout bounds how long a helper may take to end when its input ends.
	closeTimeout = time.Second
	// killTimeout bounds how long the system may take to kill it.
	killTimeout = 2 * time.Second
	// drainTimeout bounds how long we wait for the end of the output of a helper that has
	// ended. A process that it left behind may hold the pipes open.
	drainTimeout = closeTimeout / 2
	// lateAnswer is how long we still wait for the answer to a request after its
	// deadline. The helper has the same deadline, and reports a moment later why it was
	// missed.
	lateAnswer = 20 * time.Millisecond
)

// A Lock is a locks.Lock whose backend runs in a helper program. After Release the helper
// has ended, and the methods of its abilities return errors.
type Lock struct {
	programs *Programs
	scheme   string
	open     request // the first request to an instance
	where    locks.Error
	clean    func(string) string
	log      *slog.Logger
	report   func(locks.Waiting)
	lost     chan error  // holds at most one
	asked    chan []byte // holds the last

	mu     sync.Mutex
	at     *instance // the latest
	closed bool
}

// Acquire implements locks.Lock. When its context ends, it waits a moment for the helper
// to clean up.
func (l *Lock) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	p, err := l.begin(ctx, request{Method: methodAcquire, Try: try})
	if err != nil {
		return locks.Grant{}, err
	}
	for pause := new(backoff.Backoff); ; {
		select {
		case w := <-p.waiting:
			l.report(w)
		case <-p.done:
			select {
			case w := <-p.waiting:
				l.report(w)
			default:
			}
			if next := l.resume(ctx, p, pause); next != nil {
				p = next
				continue
			}
			return *p.result.grant(), l.outcome(ctx, p)
		case <-ctx.Done():
			return locks.Grant{}, l.withdraw(ctx, p)
		}
	}
}

// withdraw gives up an acquire whose context has ended, and any lock that it was granted. Then
// the lock can be acquired again. A helper that does not answer is killed, so that nobody
// renews what it may have been granted. The error is the helper's, which knows whether the lock
// is held or the server is down.
func (l *Lock) withdraw(ended context.Context, p *pending) error {
	s := p.session
	s.giveUp(p)
	if !closedWithin(p.done, withdrawTimeout) {
		s.fail(fmt.Errorf("%s%s did not answer a cancelled acquire", prefix, s.scheme))
		return l.over(ended, methodAcquire)
	}
	if p.err != nil {
		return l.ended(ended, p)
	}
	ctx, cancel := context.WithTimeout(context.Background(), withdrawTimeout)
	defer cancel()
	s.settle()
	if err := l.do(ctx, request{Method: methodRelease}); err != nil {
		s.fail(fmt.Errorf("%s%s did not release an unwanted lock", prefix, s.scheme))
	} else {
		s.forget()
	}
	return l.over(ended, methodAcquire)
}

// Renew implements locks.Lock.
func (l *Lock) Renew(ctx context.Context) error { return l.do(ctx, request{Method: methodRenew}) }

// Release implements locks.Lock. The helper then ends.
func (l *Lock) Release(ctx context.Context) error {
	if l.last().session.settle() {
		return nil
	}
	p, err := l.call(ctx, request{Method: methodRelease})
	if err == nil {
		p.session.released()
	}
	return err
}

// Lost implements locks.Lock. The death of a helper is not a loss unless the lock has no
// lease. With a lease, the lock lasts until its deadline.
func (l *Lock) Lost() <-chan error { return l.lost }

// Close implements locks.Lock. It ends the helper and waits until it is gone.
func (l *Lock) Close() error {
	l.mu.Lock()
	l.closed = true
	in := l.at
	l.mu.Unlock()
	return in.close()
}

// ReleaseMessage implements locks.Remote.
func (l *Lock) ReleaseMessage() (input *os.File, words []byte) {
	return l.last().process.input.w, []byte(`{"id":"guard","method":"release"}` + "\n")
}

// Keeps implements locks.Remote.
func (l *Lock) Keeps(pid int) bool { return l.last().process.is(pid) }

// SecretEnv implements locks.SecretReader.
func (l *Lock) SecretEnv() []string {
	s := l.last().session
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets
}

// call makes a call and waits for its answer. If it returns an error, the pending has no
// result.
func (l *Lock) call(ctx context.Context, r request) (*pending, error) {
	p, err := l.begin(ctx, r)
	if err == nil {
		err = l.await(ctx, p)
	}
	if err != nil {
		return new(pending), err
	}
	return p, nil
}

func (l *Lock) await(ctx context.Context, p *pending) error {
	select {
	case <-p.done:
		return l.outcome(ctx, p)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && closedWithin(p.done, lateAnswer) {
			return l.outcome(ctx, p)
		}
		p.session.giveUp(p)
		return l.over(ctx, p.method.name)
	}
}

// do makes a call without a result.
func (l *Lock) do(ctx context.Context, r request) error {
	_, err := l.call(ctx, r)
	return err
}

// begin sends a request if it is valid and the helper has declared the ability that it
// needs. A helper without the ability may not even answer.
func (l *Lock) begin(ctx context.Context, r request) (*pending, error) {
	m := l.last().session.methods.named(r.Method)
	if err := m.allows(&r); err != nil {
		return nil, err
	}
	if m.can != "" {
		can, err := l.Abilities(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(can, m.can) {
			return nil, cannot(string(m.can))
		}
	}
	s := l.serving().session
	if ctx.Err() != nil || m.long() && s.texts.take(ctx) != nil {
		return nil, l.over(ctx, r.Method)
	}
	return s.send(ctx, r)
}

// outcome returns the error of a call that was answered. The helper has the same deadline
// as we do. If it notices first, its answer is not a context error, but its text explains
// the failure, so outcome returns both.
func (l *Lock) outcome(ctx context.Context, p *pending) error {
	deadline, ok := ctx.Deadline()
	open := p.err != nil && (className(p.err) == "" || errors.Is(p.err, locks.ErrUnavailable))
	if open && ok && !time.Now().Before(deadline) {
		<-ctx.Done()
		return l.ended(ctx, p)
	}
	return p.err
}

// ended returns the error of a call that failed when its context had ended, with what the helper
// says about it. Its error is a context's, too, but may be of another one: it has the same
// deadline as we, and we tell it when ours has come.
func (l *Lock) ended(ctx context.Context, p *pending) error {
	e := failed(l.where, p.method.name, nil, ctx.Err())
	if held, ok := errors.AsType[*locks.HeldError](p.err); ok {
		e.Class, e.Err = locks.ErrHeld, held
		return e.Ended(ctx, false)
	}
	cause := p.err.Error()
	if of, ok := errors.AsType[*locks.Error](p.err); ok {
		cause = of.Err.Error()
	}
	words := ": " + cause
	for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
		if rest, ok := strings.CutPrefix(cause, end.Error()); ok {
			words = rest
		}
	}
	if words == "" { // it knows no more than we do
		e.Class = classNamed(className(p.err))
		return e
	}
	e.Class, e.Err, e.Hint = locks.ErrUnavailable, fmt.Errorf("%w%s", e.Err, words), locks.Hint(p.err)
	for _, class := range []error{locks.ErrLost, locks.ErrDenied, locks.ErrUsage} {
		if errors.Is(p.err, class) {
			e.Class = class
		}
	}
	return e
}

// over returns the error of a call whose context has ended.
func (l *Lock) over(ctx context.Context, op string) error {
	return failed(l.where, op, nil, ctx.Err())
}

var (
	_ locks.Lock         = (*Lock)(nil)
	_ locks.SecretReader = (*Lock)(nil)
	_ locks.Remote       = (*Lock)(nil)
)
