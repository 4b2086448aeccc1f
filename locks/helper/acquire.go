package helper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

const (
	// withdrawTimeout bounds how long Acquire waits, once it was given up, for its helper
	// to clean up, and again to release what was granted. It is also the limit for the answer
	// to a Renew that was given up.
	withdrawTimeout = 2 * time.Second
	// closeTimeout bounds how long a helper may take to end when its input ends.
	closeTimeout = time.Second
	// killTimeout bounds how long the system may take to kill it.
	killTimeout = 2 * time.Second
	// drainTimeout bounds how long we wait for the end of the output of a helper that has
	// ended. A process that it left behind may hold the pipes open.
	drainTimeout = closeTimeout / 2
)

// Acquire implements locks.Lock. When its context ends, it waits a moment for the helper
// to clean up.
func (l *Lock) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	r := request{Method: methodAcquire, Try: try}
	p, err := l.at.Load().send(ctx, r)
	if err != nil {
		if p, err = l.serving().send(ctx, r); err != nil {
			return locks.Grant{}, err
		}
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
			return p.result.grant(), p.outcome(ctx)
		case <-ctx.Done():
			return locks.Grant{}, l.withdraw(ctx, p)
		}
	}
}

// withdraw gives up an acquire whose context has ended, and any lock that it was granted. A
// helper that does not answer is killed, so that nobody renews what it may have been granted.
// The error is the helper's, which knows whether the lock is held or the server is down.
func (l *Lock) withdraw(ended context.Context, p *pending) error {
	s := p.session
	s.giveUp(p)
	switch {
	case !closedWithin(p.done, withdrawTimeout):
		s.fail(fmt.Errorf("%s%s did not answer a cancelled acquire", prefix, s.scheme))
	case p.err != nil:
		return p.ended(ended)
	default:
		ctx, cancel := context.WithTimeout(context.Background(), withdrawTimeout)
		defer cancel()
		if l.Release(ctx) != nil {
			s.fail(fmt.Errorf("%s%s did not release an unwanted lock", prefix, s.scheme))
		}
	}
	return s.failed(methodAcquire, nil, ended.Err())
}

// Release implements locks.Lock. The helper then ends.
func (l *Lock) Release(ctx context.Context) error {
	if l.at.Load().settle() {
		return nil
	}
	p, err := l.call(ctx, request{Method: methodRelease})
	if err == nil && p.session.holds() {
		p.session.end(errReleased)
	}
	return err
}

// settle is called before a release: from now on a loss of the lock is not reported. It
// reports whether there is certainly nothing to release.
func (s *session) settle() (nothing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grant != nil {
		s.settled = true
		return errors.Is(s.err, errReleased)
	}
	return s.err != nil && !s.doubt
}

func (s *session) holds() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grant != nil
}

// Lost implements locks.Lock. The death of a helper is not a loss unless the lock has no
// lease. With a lease, the lock lasts until its deadline.
func (l *Lock) Lost() <-chan error { return l.lost }

// Close implements locks.Lock. It ends the helper and waits until it is gone.
func (l *Lock) Close() error {
	l.mu.Lock()
	l.closed = true
	s := l.at.Load()
	l.mu.Unlock()
	s.end(errClosed)
	defer s.process.input.close()
	if closedWithin(s.gone, closeTimeout) {
		return nil
	}
	s.process.kill()
	if closedWithin(s.gone, killTimeout) || isClosed(s.process.exited) {
		return nil // at worst our log blocks, and with it the reading of the helper's log
	}
	return fmt.Errorf("%s (process %d) was killed, but is still running", s.process.name, s.process.pid)
}

// ReleaseMessage implements locks.Remote.
func (l *Lock) ReleaseMessage() (input *os.File, words []byte) {
	return l.at.Load().process.input.w, []byte(`{"id":"guard","method":"release"}` + "\n")
}

// Keeps implements locks.Remote.
func (l *Lock) Keeps(pid int) bool { return l.at.Load().process.is(pid) }

// outcome returns the error of a call that was answered. The helper has the same deadline
// as we do. If it notices first, its answer is not a context error, but its text explains
// the failure, so outcome returns both.
func (p *pending) outcome(ctx context.Context) error {
	deadline, ok := ctx.Deadline()
	refused := p.waiting != nil && errors.Is(p.err, locks.ErrHeld) // a waiter whose time is up
	open := p.err != nil && (className(p.err) == "" || errors.Is(p.err, locks.ErrUnavailable) || refused)
	if open && ok && !time.Now().Before(deadline) {
		<-ctx.Done()
		return p.ended(ctx)
	}
	return p.err
}

// ended returns the error of a call that failed when its context had ended, with what the helper
// says about it. Its error is a context's, too, but may be of another one: it has the same
// deadline as we, and we tell it when ours has come.
func (p *pending) ended(ctx context.Context) error {
	e := p.session.failed(p.method.name, nil, ctx.Err())
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

func takeGrant(p *pending, r *result) error {
	s := p.session
	switch {
	case s.grant != nil:
		return errors.New("a second grant")
	case r.Token == 0:
		return errors.New("a grant without a token")
	case r.TTL < 0 || r.TTL > maxTTL:
		return errors.New("a ttl out of range")
	case len(r.Term) > locks.MaxRecord:
		return errors.New("a term that is too long")
	}
	g := r.grant()
	s.grant, s.term, s.place = &g, r.Term, ""
	return nil
}

var (
	_ locks.Lock         = (*Lock)(nil)
	_ locks.SecretReader = (*Lock)(nil)
	_ locks.Remote       = (*Lock)(nil)
)
