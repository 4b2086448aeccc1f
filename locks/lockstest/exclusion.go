package lockstest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// A term is the time during which a job ran under the lock, as stamped by the job itself.
type term struct {
	start, end clock.Instant
	token      uint64
	holder     string
}

// A history has all terms of a lock.
type history struct {
	mu    sync.Mutex
	terms []term
	late  int // terms that began after the end of their lease, and prove nothing
}

// add adds a term. If it seems to begin after it has ended, its contender got no processor
// between the grant and the stamp.
func (l *history) add(t term) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.start > t.end {
		l.late++
		return
	}
	l.terms = append(l.terms, t)
}

// served returns how many terms there were.
func (l *history) served() int { return len(l.terms) + l.late }

// judge reports which terms overlap, and where tokens do not rise in the order of the terms.
// Nothing excuses either.
func (l *history) judge(e *env) {
	e.Helper()
	for _, f := range l.faults() {
		trial.Final(e.TB, "%s", f)
	}
	if l.late > 0 {
		e.Logf("%d terms began after the end of their lease, and prove nothing", l.late)
	}
}

func (l *history) faults() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.terms, func(a, b term) int { return cmp.Compare(a.start, b.start) })
	var faults []string
	for i := 1; i < len(l.terms); i++ {
		a, b := l.terms[i-1], l.terms[i]
		if b.start < a.end {
			faults = append(faults, fmt.Sprintf("%s started %v before %s ended", b.holder, a.end.Sub(b.start), a.holder))
		}
		if b.token <= a.token {
			faults = append(faults, fmt.Sprintf("%s got token %d after %s had %d", b.holder, b.token, a.holder, a.token))
		}
	}
	return faults
}

// exclusion makes contenders of every kind get the lock in turn: some wait, some try,
// some give up, and some end without a release.
func exclusion(e *env) {
	const contenders, terms = 8, 4
	var book history
	var wg sync.WaitGroup
	for i := range contenders {
		wg.Go(func() {
			for n := range terms {
				holder := fmt.Sprintf("contender %d, term %d", i, n)
				if err := oneTerm(e, &book, holder, i, n == terms-1); err != nil {
					e.Errorf("%s: %v", holder, err)
					return
				}
			}
		})
	}
	wg.Wait()
	book.judge(e)
	if got, want := book.served(), contenders*terms; got != want {
		e.Errorf("%d terms were served, want %d", got, want)
	}
	e.eventually(e.c.TTL+e.late(), "nothing is left", func() bool { return len(e.leftovers()) == 0 })
}

// oneTerm gets the lock once, in a way that depends on the contender's number.
func oneTerm(e *env, book *history, holder string, i int, last bool) error {
	impatience := 0
	if i%4 == 2 {
		impatience = 5
	}
	k, err := e.wait(holder, impatience, i%4 == 1)
	if k != nil {
		defer k.Close()
	}
	if err != nil {
		return err
	}
	start := e.now()
	pause(rand.N(8 * time.Millisecond))
	if e.c.TTL == 0 {
		book.add(term{start, e.now(), k.grant.Token, holder})
		return k.giveUp()
	}
	if last && i%4 == 3 { // the job runs to the end of its lease without a release
		book.add(term{start, k.deadline(), k.grant.Token, holder})
		return nil
	}
	book.add(term{start, min(e.now(), k.deadline()), k.grant.Token, holder})
	return k.giveUp()
}

func (k *contender) giveUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), k.e.patience)
	defer cancel()
	return k.Release(ctx)
}

func (k *contender) tryUntilHeld() error {
	for end := k.e.now().Add(k.e.patience); k.e.now() < end; {
		if _, err := k.try(); !errors.Is(err, locks.ErrHeld) {
			return err
		}
		pause(rand.N(10 * time.Millisecond))
	}
	return errors.New("the lock was never free")
}

// wait gets the lock with a new handle, after it has given up some others that waited. It
// returns the handle, if there is one, even with an error.
func (e *env) wait(holder string, impatience int, try bool) (*contender, error) {
	for ; ; impatience-- {
		k, err := e.tryOpen(e.u, e.options(holder))
		switch {
		case err != nil:
			return nil, err
		case try:
			return k, k.tryUntilHeld()
		}
		c := k.campaign()
		if impatience > 0 {
			select {
			case <-c.done:
			case <-time.After(rand.N(10 * time.Millisecond)):
				c.cancel()
			}
		}
		<-c.done
		if impatience == 0 || !errors.Is(c.err, context.Canceled) {
			return k, c.err
		}
		_ = k.Close()
	}
}
