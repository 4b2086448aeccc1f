package candidate

import (
	"context"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
)

// resent is how often a message is sent in the time of an attempt. The votes of a round count
// from when it was sent first, so sending it again is safe.
const resent = 4

// A round is what has been heard of a round of votes.
type round struct {
	ask     votes.Ask
	renewal bool
	outcome votes.Outcome
	decided chan struct{}        // closed when there is an outcome
	answers map[int]votes.Answer // by seat; those of other groups come after them
}

// add notes an answer to a round, and what it means. A nil round has no answers.
func (r *round) add(a votes.Answer, o votes.Outcome) {
	if r == nil || a.Term != r.ask.Term || a.Round != r.ask.Round {
		return
	}
	seat := a.Seat
	if a.Group != r.ask.Group { // it is one of another list
		seat += votes.MaxSeats
	}
	r.answers[seat] = a
	// A renewal that is refused may still be a loss.
	refused := o == votes.Refused && (!r.renewal || len(r.answers) == r.ask.Group.Seats)
	if r.outcome == votes.Open && (o == votes.Won || refused || o == votes.Evicted) {
		r.outcome = o
		close(r.decided)
	}
}

// ask asks all voters in one round, until it is decided or ctx ends, and reports whether it
// was won. If the term is over, it asks nobody.
func (l *Lock) ask(ctx context.Context) (won, over bool) {
	r, ok := l.newRound()
	if !ok {
		return false, true
	}
	l.repeat(ctx, votes.Message{Ask: &r.ask}, r.decided)
	l.mu.Lock()
	defer l.mu.Unlock()
	if won = r.outcome == votes.Won; !won {
		l.c.Again()
	}
	return won, false
}

func (l *Lock) newRound() (*round, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.candidate.Ask(l.c.Clock.Now())
	if ok {
		l.round = &round{ask: a, renewal: l.granted, decided: make(chan struct{}), answers: map[int]votes.Answer{}}
	}
	return l.round, ok
}

// repeat sends a message to all, again and again, until done is closed or ctx ends.
func (l *Lock) repeat(ctx context.Context, m votes.Message, done <-chan struct{}) {
	again := time.NewTicker(l.attempt() / resent)
	defer again.Stop()
	for ctx.Err() == nil {
		l.c.Network.Broadcast(l.message(m))
		select {
		case <-done:
			return
		case <-again.C:
		case <-ctx.Done():
		}
	}
}
