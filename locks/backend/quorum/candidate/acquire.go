package candidate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/kit/answers"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// errReleased is why a handle that was released cannot be used any longer.
const errReleased = locks.LostError("the lock was released")

// Acquire implements [locks.Lock]. It waits for voters that have just started. When no majority
// has answered for ConnectTimeout, that is an outage.
func (l *Lock) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	ctx2, cancel := l.workers.Until(ctx)
	defer cancel()
	if err := l.begin(cancel); err != nil {
		return locks.Grant{}, l.fail(ctx, "acquire", nil, err)
	}
	defer l.finish()
	now := time.Now()
	s := &standing{lock: l, try: try, began: now, heard: now, answers: answers.New(l.c.Clock, l.o.TTL, l.o.ConnectTimeout)}
	for {
		token, err := l.stand(ctx2)
		if err == nil {
			return locks.Grant{Token: token, TTL: l.o.TTL}, nil
		}
		if errors.Is(err, errNotElected) {
			l.withdraw()
			err = s.judge()
		}
		if err == nil {
			err = s.pause(ctx2)
		}
		if ctx.Err() != nil && err != nil {
			err = s.answers.Verdict(err)
		}
		var class error
		for _, c := range []error{locks.ErrHeld, locks.ErrUnavailable} {
			if errors.Is(err, c) {
				class = c
			}
		}
		if final, _ := l.state(); final != nil {
			err = final
		}
		if err != nil {
			return locks.Grant{}, l.fail(ctx, "acquire", class, err)
		}
	}
}

// begin notes that an Acquire is under way, and how to end it. A handle that leads, or has
// led, must not campaign: that would withdraw its votes.
func (l *Lock) begin(end context.CancelFunc) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.final == nil && l.granted {
		return errors.New("the lock is ours already")
	}
	l.campaigns = end
	return l.final
}

func (l *Lock) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.campaigns = nil
}

var errNotElected = errors.New("not elected")

// stand campaigns once, and returns the token of the term.
func (l *Lock) stand(ctx context.Context) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	l.candidate.Campaign()
	l.mu.Unlock()
	for range 2 { // one round finds the token, one records it
		attempt, cancel := context.WithTimeout(ctx, l.attempt())
		won, _ := l.ask(attempt)
		cancel()
		if !won {
			return 0, errNotElected
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	token, _, leads := l.candidate.Lease(l.c.Clock.Now())
	if l.final != nil || !leads {
		return 0, errNotElected
	}
	l.granted = true
	return token, nil
}

// withdraw ends a campaign that was not granted. If that is lost, the next campaign does it.
func (l *Lock) withdraw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.candidate.Withdraw()
	l.c.Network.Broadcast(l.message(votes.Message{Withdrawal: &w}))
}

// A standing is what an Acquire has learned.
type standing struct {
	lock    *Lock
	try     bool
	began   time.Time
	heard   time.Time // when a majority has answered last
	answers *answers.Answers
	holder  votes.Term // nobody else can have a majority; zero: there is none
	leads   bool       // it has a token, and so had a majority
	seen    votes.Term // the holder before the last pause
	told    votes.Term // the holder of which Waiting was told last
	left    time.Duration
	foreign int // how many seats belong to another group
	pauses  backoff.Backoff
}

// judge learns from the last round, and returns why the campaign must end, or nil.
func (s *standing) judge() error {
	voted, abstained := s.look()
	majority, n := s.lock.c.Group.Majority(), s.lock.c.Group.Seats
	var failure error = unavailable(fmt.Sprintf("no majority of the %d voters has answered: %d have", n, voted+abstained))
	switch {
	case abstained > n-majority:
		failure = unavailable(fmt.Sprintf("%d of %d voters have just started, or cannot tell whether they alone have their seats, and do not vote yet", abstained, n))
	case voted+abstained >= majority:
		failure = unavailable("the votes are split among those who ask for the lock")
	}
	heard, next := voted+abstained >= majority, s.next()
	if heard { // they answer at once
		s.heard, next = time.Now(), s.pauses.Next()
	}
	if s.leads {
		s.answers.Held(s.status())
	} else {
		s.answers.Failed(failure, false)
	}
	if o := s.lock.o; o.Waiting != nil && !s.try && s.leads && s.holder != s.told {
		s.told = s.holder
		o.Waiting(locks.Waiting{Status: s.status()})
	}
	since := s.heard
	if s.try {
		since = s.began
	}
	switch {
	case s.try && s.leads:
		return &locks.HeldError{Status: s.status()}
	case s.foreign >= majority:
		return locks.Usagef("%s", s.lock.c.Foreign())
	case heard && !s.try, time.Since(since)+next < s.lock.o.ConnectTimeout*3/4:
		return nil
	}
	return failure
}

// unavailable is the text of an ErrUnavailable.
type unavailable string

func (e unavailable) Error() string { return string(e) }
func (e unavailable) Unwrap() error { return locks.ErrUnavailable }

// look reads the answers to the last round. Somebody holds the lock if so many are bound to one
// term that nobody else can have a majority, and know its token.
func (s *standing) look() (voted, abstained int) {
	l := s.lock
	l.mu.Lock()
	defer l.mu.Unlock()
	s.holder, s.leads, s.left, s.foreign = votes.Term{}, false, 0, 0
	bound, named := map[votes.Term]int{}, map[votes.Term]int{}
	blocks := func(n int) bool { return n+l.c.Group.Majority() > l.c.Group.Seats }
	for _, a := range l.round.answers {
		switch a.Vote {
		case votes.Abstains:
			abstained++
			continue
		case votes.Foreign:
			s.foreign++
			continue
		case votes.Bound:
			if a.Named > 0 {
				named[a.To]++
			}
			if bound[a.To]++; blocks(bound[a.To]) {
				s.holder, s.leads = a.To, blocks(named[a.To])
			}
			s.left = max(s.left, a.Left)
		}
		voted++
	}
	l.holder = s.holder
	return voted, abstained
}

// next returns how long another campaign may take to fail. There must be time left for the
// caller to learn why.
func (s *standing) next() time.Duration { return s.pauses.Next() + s.lock.attempt() }

func (s *standing) status() locks.Status {
	st := locks.Status{Holder: s.holder.Candidate}
	if leader := s.lock.c.Leader; leader != nil {
		st = leader()
	}
	st.Held, st.Left = true, s.left
	return st
}

// spread is the time within which the waiters ask for a lock that has become free. Those that
// meet pause for longer.
const spread = 100 * time.Millisecond

// pause waits until another campaign is worthwhile: the holder has withdrawn, or its lease
// may have ended. Candidates that have met each other pause for a random time. The first answers
// that name a holder may be older than its withdrawal, which we did not expect then: so they are
// asked for again.
func (s *standing) pause(ctx context.Context) error {
	known := s.holder == s.seen
	s.seen = s.holder
	if !s.leads || !known {
		return s.pauses.Wait(ctx)
	}
	s.pauses.Reset()
	timer := time.NewTimer(min(s.left, s.lock.o.TTL, s.answers.Look(ctx)))
	defer timer.Stop()
	select {
	case <-s.lock.changed:
	case <-timer.C:
	case <-ctx.Done():
	}
	return backoff.Sleep(ctx, s.lock.c.Turn())
}
