package candidate

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
)

// Renew implements [locks.Lock]: one more round. It needs a majority, not the same one.
func (l *Lock) Renew(ctx context.Context) error {
	switch final, granted := l.state(); {
	case final != nil:
		return l.fail(ctx, "renew", nil, final)
	case !granted:
		return locks.ErrNoLease
	}
	ctx2, cancel := l.workers.Until(ctx)
	defer cancel()
	won, over := l.ask(ctx2)
	switch {
	case won:
		return nil
	case over:
		l.mu.Lock()
		l.lose(locks.LostError("the lease has ended"))
		l.mu.Unlock()
	}
	if final, _ := l.state(); final != nil {
		return l.fail(ctx, "renew", nil, final)
	}
	return l.fail(ctx, "renew", locks.ErrUnavailable, errors.New("no majority of the voters has voted for the lease"))
}

// A withdrawal is a Release under way.
type withdrawal struct {
	term  votes.Term
	freed map[int]bool  // by seat
	done  chan struct{} // closed when a majority is free
}

// acknowledged notes that a voter is free. A nil withdrawal has not been sent.
func (w *withdrawal) acknowledged(a *votes.Answer, majority int) {
	if w == nil || a.Term != w.term || w.freed[a.Seat] || len(w.freed) == majority {
		return
	}
	if w.freed[a.Seat] = true; len(w.freed) == majority {
		close(w.done)
	}
}

// Release implements [locks.Lock]. It ends the handle, and returns when a majority is free.
func (l *Lock) Release(ctx context.Context) error {
	w := l.leave()
	if w == nil {
		return nil
	}
	ctx2, cancel := l.workers.Until(ctx)
	defer cancel()
	l.repeat(ctx2, votes.Message{Withdrawal: &votes.Withdrawal{Term: w.term}}, w.done)
	select {
	case <-w.done:
		return nil
	default:
		return l.fail(ctx, "release", locks.ErrUnavailable, errors.New("no majority of the voters has answered"))
	}
}

// leave ends the handle, and returns what is to be released, or nil. A lease that has ended
// is withdrawn as well, but there is no need to wait for that.
func (l *Lock) leave() *withdrawal {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.final == nil && (l.granted || l.campaigns != nil) {
		l.final = errReleased
	}
	if l.campaigns != nil {
		l.campaigns()
	}
	if !l.granted || l.farewell != nil {
		return l.farewell
	}
	_, _, leads := l.candidate.Lease(l.c.Clock.Now())
	w := &withdrawal{l.candidate.Withdraw().Term, map[int]bool{}, make(chan struct{})}
	if !leads {
		l.c.Network.Broadcast(l.message(votes.Message{Withdrawal: &votes.Withdrawal{Term: w.term}}))
		return nil
	}
	l.farewell = w
	return w
}
