package lockstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
)

func isLost(err error) bool { return errors.Is(err, locks.ErrLost) }

// writes sets the record, or fails the test.
func (k *contender) writes(text string) {
	k.e.Helper()
	if err := k.setRecord(k.e.patient(), text); err != nil {
		k.e.Fatalf("%s: set the record to %q: %v", k.o.Holder, locks.Abbreviate(text), err)
	}
}

// reads checks the record.
func (k *contender) reads(want string) {
	k.e.Helper()
	got, err := k.record(k.e.patient())
	if err != nil {
		k.e.Fatalf("%s: read the record: %v", k.o.Holder, err)
	}
	if got == nil {
		k.e.Errorf("%s: there is no record; want %q", k.o.Holder, locks.Abbreviate(want))
	} else if string(got) != want {
		k.e.Errorf("%s: the record is %q (%d bytes); want %q (%d)", k.o.Holder,
			locks.Abbreviate(string(got)), len(got), locks.Abbreviate(want), len(want))
	}
}

func (k *contender) readsNothing() {
	k.e.Helper()
	if got, err := k.record(k.e.patient()); err != nil || got != nil {
		k.e.Errorf("%s: a record that was never set: got %q, %v; want nil", k.o.Holder, locks.Abbreviate(string(got)), err)
	}
}

// cannotWrite checks that k may not set the record, and that the record is want.
func (k *contender) cannotWrite(who, want string) {
	k.e.Helper()
	if err := k.setRecord(k.e.patient(), "by "+who); !isLost(err) {
		k.e.Errorf("%s sets the record: got %v; want ErrLost", who, err)
	} else {
		k.e.harmless(err)
	}
	k.e.open("reader").reads(want)
}

// recordLives checks that everybody can read the record, and that it outlives each term.
func recordLives(e *env) {
	w := e.open("watcher")
	w.readsNothing()
	e.clean()
	a := e.open("a")
	a.hold()
	a.keep()
	a.readsNothing()
	a.writes("one")
	w.reads("one")
	a.reads("one")
	a.writes("two")
	w.reads("two")
	e.open("late").reads("two")
	a.release()
	w.reads("two")
	b := e.open("b")
	b.reads("two")
	b.hold()
	b.reads("two")
	w.reads("two")
	b.writes("three")
	b.release()
	w.reads("three")
	e.free()
	w.reads("three")
}

// recordDuringAcquire reads the record with a handle that waits.
func recordDuringAcquire(e *env) {
	a := e.open("a")
	a.hold()
	a.keep()
	a.writes("one")
	b := e.open("b")
	c := b.campaign()
	c.queued()
	b.reads("one")
	a.writes("two")
	b.reads("two")
	a.release()
	c.won(e.prompt + e.c.Polling)
	b.reads("two")
	b.writes("three")
	e.open("c").reads("three")
	b.release()
}

// recordOutlivesEnds ends the lock in the ways without a release.
func recordOutlivesEnds(e *env) {
	w := e.open("watcher")
	k := e.open("first")
	k.hold()
	k.writes("first")
	if e.c.TTL > 0 {
		c := e.open("after the end of a lease").campaign()
		c.won(k.grant.TTL + e.late())
		c.k.keep()
		w.reads("first")
		k = c.k
		k.writes("second")
	}
	if e.c.Crash != nil {
		e.operates(func() { e.c.Crash(e.TB, e.u, lockName, k.bare) })
		want := "first"
		if e.c.TTL > 0 {
			want = "second"
		}
		c := e.open("after the crash").campaign()
		c.won(e.c.TTL + e.late())
		c.k.reads(want)
		c.k.writes("third")
		w.reads("third")
		k = c.k
	}
	k.release()
}

// recordExtendsNothing checks that a holder that writes but does not renew loses the
// lock. Waiters may count the whole lease from the last write that was in time.
func recordExtendsNothing(e *env) {
	a := e.open("a")
	a.hold()
	b := e.open("b").campaign()
	b.queued()
	limit := 2*a.grant.TTL + e.late()
	end := e.now().Add(limit)
	for b.pending() && e.now() < end {
		ctx, cancel := context.WithTimeout(context.Background(), e.prompt)
		_ = a.setRecord(ctx, "still here")
		cancel()
		pause(e.interval())
	}
	if b.pending() {
		e.Errorf("a has not renewed for %v, but holds the lock", limit)
	}
	b.won(e.prompt)
	b.k.release()
}

// recordTexts returns texts that some ways to store or send them would damage.
func recordTexts() []string {
	return []string{
		"", " ", "\n", "null", "{}", `{"a":"b"}`, `"`, `\`, `\u0000`, "\x00", "a\x00b", "a\r\nb\n", " a ", "\ufeffa", "\u2028\u2029<>&",
		"é ü ß 漢字 🙂 \u202e", "%s%20+%", "'; drop table locks; --", "\u0085\x7f\u0080",
		strings.Repeat("x", locks.MaxRecord), strings.Repeat(`"`, locks.MaxRecord), strings.Repeat("\x01", locks.MaxRecord),
		strings.Repeat("\n", locks.MaxRecord), strings.Repeat("漢", locks.MaxRecord/3), strings.Repeat("\u2028", locks.MaxRecord/3),
	}
}

// excessive returns texts that must be refused.
func excessive() []string {
	return []string{
		strings.Repeat("x", locks.MaxRecord+1), strings.Repeat("漢", locks.MaxRecord/3+1), strings.Repeat("x", 1<<20),
		"\xff", "a\xc3", "\xed\xa0\x80",
	}
}

func recordIsIntact(e *env) {
	a := e.openWith(e.u, e.longer("a"))
	a.hold()
	a.keep()
	w := e.open("watcher")
	for _, text := range recordTexts() {
		a.writes(text)
		w.reads(text)
		a.reads(text)
	}
	a.writes("last")
	for _, text := range excessive() {
		if err := a.setRecord(e.patient(), text); !errors.Is(err, locks.ErrUsage) {
			e.Errorf("a record of %d bytes (valid UTF-8: %v): got %v; want ErrUsage", len(text), utf8.ValidString(text), err)
		}
		w.reads("last")
	}
	if err := a.renew(); err != nil && e.c.TTL > 0 {
		e.Errorf("renew: %v", err)
	}
	a.release()
	w.reads("last")
}

// recordDuringRenew writes while it renews as often as it can.
func recordDuringRenew(e *env) {
	a := e.open("a")
	a.hold()
	renewing, stop := context.WithCancel(context.Background())
	renewed := make(chan error, 1)
	go func() {
		var last error
		for renewing.Err() == nil && last == nil {
			ctx, cancel := context.WithTimeout(context.Background(), e.prompt+e.c.TTL)
			last = a.Renew(ctx)
			cancel()
			if errors.Is(last, locks.ErrNoLease) && e.c.TTL == 0 {
				last = nil
			}
			pause(e.interval() / 8)
		}
		renewed <- last
	}()
	w := e.open("watcher")
	for i := range 5 {
		a.writes(fmt.Sprint("text ", i))
		w.reads(fmt.Sprint("text ", i))
	}
	stop()
	if err := <-renewed; err != nil {
		e.Errorf("a renewal during SetRecord: %v", err)
	}
	if err := a.renew(); err != nil && e.c.TTL > 0 {
		e.Errorf("renew: %v", err)
	}
	e.open("b").refused()
	w.reads("text 4")
	a.release()
}

// recordsDoNotMix checks records of similar names, of slots, and of names that a
// backend's own files might have.
func recordsDoNotMix(e *env) {
	all := e.possible(append(names(), "x", "x/y", "x#0", "x#1", "x#2", "x.record", "x/record", "record", "x.last", "x-record", "records/x", "x.rec", "x.ask", "x.txt"))
	e.each(all, func(name string) {
		if _, err := e.leaveRecord(name, "of "+name); err != nil {
			e.Errorf("%s: %v", name, err)
		}
	})
	for _, name := range all {
		k := e.openNamed(e.u, name)
		k.reads("of " + name)
		k.hold() // no record prevents a lock
		k.release()
		_ = k.Close()
	}
}

// leaveRecord writes the first record of a lock, and returns who has held it for that.
func (e *env) leaveRecord(name, text string) (*contender, error) {
	k, err := e.tryOpen(e.u, e.named(name))
	if err != nil {
		return nil, err
	}
	defer k.Close()
	k.readsNothing()
	if _, err = k.try(); err == nil {
		err = k.setRecord(e.patient(), text)
	}
	return k, errors.Join(err, k.giveUp())
}

// hostileText meets a record that no leaderrun wrote. It must be returned as it is, or be
// an error, and must not block the lock for longer than a holder needs to replace it.
func hostileText(e *env, i int) {
	a := e.open("a")
	a.hold()
	stop := a.keep()
	a.writes("good")
	e.operates(func() { e.c.HostileRecords[i](e.TB, e.u, lockName) })
	e.bounded(2*e.prompt, "Record", func() {
		ctx, cancel := context.WithTimeout(context.Background(), e.prompt)
		defer cancel()
		got, err := e.open("watcher").record(ctx)
		e.harmless(err)
		if len(got) > 64<<10 {
			e.Errorf("a record of %d bytes was returned", len(got))
		}
		e.Logf("read as %q, %v", locks.Abbreviate(string(got)), err)
	})
	if err := stop(); err != nil { // a renewal may fail if a concurrent one takes all turns
		e.Errorf("renew: %v", err)
	}
	if err := a.renew(); e.c.TTL > 0 && err != nil {
		e.Errorf("renew: %v", err)
	}
	a.keep()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := a.setRecord(ctx, "good again"); err != nil {
		e.harmless(err)
		e.Logf("the record cannot be replaced: %v", err)
	} else {
		e.open("watcher").reads("good again")
	}
	a.release()
	e.free()
}
