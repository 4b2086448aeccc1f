package lockstest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// A slotTerm is the time during which a job ran with a slot.
type slotTerm struct {
	term
	n, slot int
}

// slotFaults checks the terms: never do more contenders hold a slot than any of them
// allows, a slot has one holder, and its tokens rise.
func slotFaults(terms []slotTerm) (faults []string, most int) {
	slices.SortFunc(terms, func(a, b slotTerm) int { return cmp.Compare(a.start, b.start) })
	for i, t := range terms {
		now, least := 1, t.n
		for _, before := range terms[:i] {
			if before.slot == t.slot && before.token >= t.token {
				faults = append(faults, fmt.Sprintf("slot %d: %s got token %d after %s had %d", t.slot, t.holder, t.token, before.holder, before.token))
			}
			if before.end <= t.start {
				continue
			}
			now, least = now+1, min(least, before.n)
			if before.slot == t.slot {
				faults = append(faults, fmt.Sprintf("%s and %s have slot %d at once", t.holder, before.holder, t.slot))
			}
		}
		most = max(most, now)
		if now > least || t.slot < 1 || t.slot > t.n {
			faults = append(faults, fmt.Sprintf("%s is one of %d, one of whom allows %d; its slot is %d of %d", t.holder, now, least, t.slot, t.n))
		}
	}
	return faults, most
}

// atMost lets contenders with different numbers of slots come and go. Some of them crash.
// All get their turn, so slots are filled again. Where the recipe has tests of its own there
// are fewer, which stay longer: each has a handle for each slot, and with it a connection.
func atMost(e *env, numbers ...int) {
	contenders, terms, crashing := 12, 3, 4 // one term in four ends with a crash
	stay := e.prompt / 100                  // 20 ms, and more on a busy machine, where short terms would not overlap
	if e.c.Recipe && !tester.Long() {
		contenders, terms, stay = 6, 2, e.prompt/5
	}
	switch {
	case e.c.Polling >= time.Second:
		terms = 1
	case e.c.TTL > 0 && e.c.Late > e.c.TTL: // each takes a slot away for long
		crashing = 12
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		book []slotTerm
		late int // terms that began after the end of their lease, and prove nothing
	)
	for i := range contenders {
		wg.Go(func() {
			for n := range terms {
				number := numbers[(i+n)%len(numbers)]
				t, err := slotOnce(e.of(number), fmt.Sprintf("contender %d, term %d", i, n), stay, rand.N(crashing) == 0)
				if err != nil {
					e.Errorf("contender %d: %v", i, err)
					return
				}
				t.n = number
				mu.Lock()
				if t.start > t.end {
					late++
				} else {
					book = append(book, t)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	faults, most := slotFaults(book)
	for _, f := range faults {
		trial.Final(e.TB, "%s", f)
	}
	e.Logf("%d terms, at most %d at once; %d began after the end of their lease", len(book), most, late)
	if want := slices.Max(numbers); len(numbers) == 1 && terms > 1 && most != want { // few terms may not overlap enough
		e.Errorf("at most %d held a slot at once; want %d", most, want)
	}
	if served := len(book) + late; served != contenders*terms {
		e.Errorf("%d terms were served, want %d", served, contenders*terms)
	}
}

// slotOnce gets a slot once, stays for up to twice that long, and releases it or crashes.
func slotOnce(e *env, holder string, stay time.Duration, crash bool) (slotTerm, error) {
	for {
		k, err := e.tryOpen(e.u, e.options(holder))
		if err != nil {
			return slotTerm{}, err
		}
		c := k.campaign()
		<-c.done
		if errors.Is(c.err, locks.ErrLost) { // lost its place in a queue, on a busy machine
			_ = k.Close()
			continue
		}
		if c.err != nil {
			_ = k.Close()
			return slotTerm{}, c.err
		}
		defer k.Close()
		t := slotTerm{term: term{start: e.now(), token: k.grant.Token, holder: holder}, slot: k.slot()}
		pause(stay + rand.N(stay))
		if t.end = e.now(); e.c.TTL > 0 {
			t.end = min(t.end, k.deadline())
		}
		if !crash || e.c.TTL == 0 && e.c.Crash == nil {
			return t, k.giveUp()
		}
		if e.c.TTL > 0 {
			t.end = k.deadline()
		}
		return t, nil // the handle is closed, and the lease ends
	}
}
