package lockstest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/leaderrun/leaderrun/locks"
)

// hostileMemory is how much memory of this process reading one record may cost. The limit
// is much higher than that cost should be, because a dozen of these tests run in
// parallel: a ZooKeeper client begins with 1.5 MiB, and all read records of 1 MiB.
const hostileMemory = 768 << 20

// hostileRecords returns the tests of each variant that the Config declares.
func hostileRecords(c Config) []test {
	var all []test
	for i := range c.Hostile {
		all = append(all,
			test{name: fmt.Sprintf("HostileRecord/free/%d", i), run: func(e *env) { hostileFree(e, i) }},
			test{name: fmt.Sprintf("HostileRecord/held/%d", i), run: func(e *env) { hostileHeld(e, i) }})
	}
	if all == nil {
		all = []test{{name: "HostileRecord", needs: []need{needHostile}}}
	}
	return all
}

// hostileTexts returns the tests of variants of what abilities read.
func hostileTexts(c Config) []test {
	var all []test
	for i := range c.Hostile {
		all = append(all,
			test{name: fmt.Sprintf("HostileState/free/%d", i), run: func(e *env) { inspectHostile(e, i, false) }, needs: []need{able(locks.CanInspect)}},
			test{name: fmt.Sprintf("HostileState/held/%d", i), run: func(e *env) { inspectHostile(e, i, true) }, needs: []need{able(locks.CanInspect)}},
			test{name: fmt.Sprintf("HostileList/holder/%d", i), run: func(e *env) { hostileList(e, func() { e.corrupt(i) }) }, needs: []need{able(locks.CanList)}})
	}
	for i := range c.HostileRecords {
		corrupt := func(e *env) { e.c.HostileRecords[i](e.TB, e.u, lockName) }
		all = append(all,
			test{name: fmt.Sprintf("HostileText/%d", i), run: func(e *env) { hostileText(e, i) }, needs: []need{able(locks.CanRecord)}},
			test{name: fmt.Sprintf("HostileList/record/%d", i), run: func(e *env) { hostileList(e, func() { corrupt(e) }) }, needs: []need{able(locks.CanList), able(locks.CanRecord)}})
	}
	for i := range c.HostileAsks {
		all = append(all, test{name: fmt.Sprintf("HostileAsk/%d", i), run: func(e *env) { hostileAsk(e, i) }, needs: []need{able(locks.CanAsk)}})
	}
	for i := range c.HostileEntries {
		corrupt := func(e *env) { e.c.HostileEntries[i](e.TB, e.u) }
		all = append(all, test{name: fmt.Sprintf("HostileList/entry/%d", i), run: func(e *env) { hostileList(e, func() { corrupt(e) }) }, needs: []need{able(locks.CanList)}})
	}
	return all
}

func (e *env) corrupt(i int) {
	e.operates(func() { e.c.Hostile[i](e.TB, e.u, lockName) })
}

// bounded runs f, which should be prompt and use little memory.
func (e *env) bounded(limit time.Duration, what string, f func()) {
	e.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	if took := time.Since(start); took > limit {
		e.Errorf("%s took %v", what, took)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > hostileMemory {
		e.Errorf("%s allocated %d MiB", what, got>>20)
	}
}

// harmless checks that an error's text may be shown.
func (e *env) harmless(err error) {
	e.Helper()
	if err == nil {
		return
	}
	text := err.Error()
	if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }); i >= 0 {
		e.Errorf("the error has a raw character %q: %q", text[i:min(i+4, len(text))], locks.Abbreviate(text))
	}
	if len(text) > 4<<10 {
		e.Errorf("the error has %d bytes: %q", len(text), locks.Abbreviate(text))
	}
}

// hostileFree meets the record in a lock that nobody holds.
func hostileFree(e *env, i int) {
	e.corrupt(i)
	o := e.options("a")
	o.ConnectTimeout = time.Second
	for _, try := range []bool{true, false} {
		k := e.openWith(e.u, o)
		ctx, cancel := context.WithTimeout(context.Background(), e.prompt)
		e.bounded(2*e.prompt, "Acquire", func() {
			_, err := k.acquire(ctx, try)
			e.Logf("try=%v: %v", try, err)
			e.harmless(err)
			if err == nil {
				e.soleHolder(k)
			}
		})
		cancel()
	}
}

// soleHolder checks that a granted lock excludes others.
func (e *env) soleHolder(k *contender) {
	e.Helper()
	other := e.open("b")
	g, err := other.try()
	e.harmless(err)
	if err == nil && (e.c.TTL == 0 || k.renew() == nil) {
		e.Errorf("%s and %s both hold the lock, with the tokens %d and %d", k.o.Holder, other.o.Holder, k.grant.Token, g.Token)
	}
	_ = other.giveUp()
	e.harmless(k.giveUp())
}

// hostileHeld overwrites the record of a held lock with a waiter. The holder may lose the
// lock or not, but it must learn of a loss.
func hostileHeld(e *env, i int) {
	a := e.open("a")
	a.hold()
	b := e.open("b").campaign()
	b.queued()
	e.corrupt(i)
	e.bounded(2*e.prompt, "a try while the lock is held", func() {
		c := e.open("c")
		if _, err := c.try(); err != nil {
			e.harmless(err)
		} else if e.c.TTL == 0 || e.now() < a.deadline() {
			e.Error("c has the lock while a holds it")
		}
		_ = c.giveUp()
	})
	if within(e.wakes, func() bool { return !b.pending() }) && b.err == nil && (e.c.TTL == 0 || b.at < a.deadline()) {
		e.Error("b has the lock while a holds it")
	}
	e.bounded(e.prompt, "Renew and Release", func() {
		if err := a.renew(); !errors.Is(err, locks.ErrNoLease) {
			e.harmless(err)
		}
		e.harmless(a.giveUp())
	})
	if !within(e.c.TTL+e.late(), func() bool { return !b.pending() }) {
		b.cancel()
	}
	b.ended(e.prompt)
	e.Logf("the waiter: %v", b.err)
	e.harmless(b.err)
}

// hostileHolders returns ids that somebody might choose to do harm.
func hostileHolders() []string {
	return []string{
		"", " ", "\x00", "a\nb\rc", "\x1b]0;owned\x07\x1b[2J", "\xff\xfe\xfd", "\u202egnp.exe", `"},{"`, "%s%n%[1]*d", "'; drop table locks; --",
		strings.Repeat("x", 10_000), strings.Repeat("\n", 10_000), strings.Repeat("é", 5_000) + "\x80",
	}
}

// hostileHolder uses holders and waiters with such ids.
func hostileHolder(e *env) {
	for _, id := range hostileHolders() {
		a := e.open(id)
		g := a.hold()
		b := e.open(id)
		_, err := b.try()
		e.harmless(err)
		held, ok := errors.AsType[*locks.HeldError](err)
		if !ok {
			e.Fatalf("a lock held by %q: got %v; want a *HeldError", locks.Abbreviate(id), err)
		}
		if len(held.Status.Holder) > 64<<10 {
			e.Errorf("the holder in the status has %d bytes", len(held.Status.Holder))
		}
		c := b.campaign()
		c.queued()
		if err := a.renew(); e.c.TTL > 0 && err != nil {
			e.Errorf("renew: %v", err)
		}
		a.release()
		if next := c.won(e.prompt + e.c.Polling); next.Token <= g.Token {
			e.Errorf("token %d after %d", next.Token, g.Token)
		}
		b.release()
	}
	e.clean()
}
