package lockstest

import (
	"context"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
)

// A listing has the locks of all pages of a list, in order.
type listing struct {
	e     *env
	all   []locks.Listed
	pages int
}

// lists reads a whole list and checks each page. It calls between, if that is not nil,
// after the first page.
func (k *contender) lists(between func()) listing {
	k.e.Helper()
	l := listing{e: k.e}
	for cursor := ""; ; {
		page, next, err := k.list(k.e.patient(), cursor)
		if err != nil {
			k.e.Fatalf("%s: page %d of a list: %v", k.o.Holder, l.pages+1, err)
		}
		l.add(page, next)
		switch {
		case next == "":
			return l
		case l.pages == 1 && between != nil:
			between()
		case l.pages > 100:
			k.e.Fatalf("a list has no end: %d pages with %d locks", l.pages, len(l.all))
		}
		cursor = next
	}
}

func (l *listing) add(page []locks.Listed, next string) {
	l.e.Helper()
	l.pages++
	l.all = append(l.all, page...)
	if len(page) > locks.MaxList {
		l.e.Errorf("a page has %d locks; at most %d are allowed", len(page), locks.MaxList)
	}
	if err := locks.CheckCursor(next); err != nil {
		l.e.Errorf("a cursor of %d bytes: %v", len(next), err)
	}
	for _, one := range page {
		if err := locks.CheckSlotName(one.Name); err != nil {
			l.e.Errorf("something that is not a lock is listed: %v", err)
		}
		l.e.modest(locks.State{Status: one.Status})
		if len(one.Record) > 64<<10 {
			l.e.Errorf("%q is listed with a record of %d bytes", one.Name, len(one.Record))
		}
	}
}

// find returns the entry of a name, which must appear exactly once.
func (l *listing) find(name string) locks.Listed {
	l.e.Helper()
	var found []locks.Listed
	for _, one := range l.all {
		if one.Name == name {
			found = append(found, one)
		}
	}
	if len(found) != 1 {
		l.e.Errorf("%q is listed %d times; want once", locks.Abbreviate(name), len(found))
		return locks.Listed{}
	}
	return found[0]
}

// has checks the entry of a lock that k holds, or held, and its record; "-" means none.
func (l *listing) has(k *contender, held bool, record string) {
	l.e.Helper()
	one := l.find(k.o.Name)
	if held {
		k.isReported(one.Status, "is listed")
	} else if one.Status.Held {
		l.e.Errorf("%q is free, but is listed with %+v", k.o.Name, one.Status)
	}
	switch {
	case record == "-" && one.Record != nil, record != "-" && (one.Record == nil || string(one.Record) != record):
		l.e.Errorf("%q is listed with the record %q (none: %v); want %q", k.o.Name, one.Record, one.Record == nil, record)
	}
}

func (e *env) can(a locks.Ability) bool { return slices.Contains(e.c.Abilities, a) }

// listReports follows a lock through its life, with a handle on another lock and with that
// of its holder.
func listReports(e *env) {
	w := e.openNamed(e.u, "other")
	if l := w.lists(nil); len(l.all) > 0 {
		e.Errorf("an empty store lists %+v", l.all)
	}
	e.clean()
	a := e.open("a")
	a.hold()
	a.keep()
	for _, k := range []*contender{w, a} {
		l := k.lists(nil)
		l.has(a, true, "-")
	}
	record := "-"
	if e.can(locks.CanRecord) {
		record = "a\x00\n\"text"
		a.writes(record)
	}
	b := e.open("b").campaign()
	b.queued()
	l := w.lists(nil)
	l.has(a, true, record)
	if got := l.find(lockName).Status.Waiters; e.can(locks.CanQueue) && got != 1 {
		e.Errorf("%d waiters are listed; want 1", got)
	}
	a.release()
	b.won(e.prompt + e.c.Polling)
	b.k.keep()
	l = w.lists(nil)
	l.has(b.k, true, record)
	b.k.release()
	if l = w.lists(nil); record != "-" {
		l.has(b.k, false, record)
	} else if len(l.all) > 0 && l.all[0].Status.Held {
		e.Errorf("after the release the lock is listed with %+v", l.all[0].Status)
	}
	e.free()
}

// listNames holds locks with similar or odd names. Another store must have none of them.
func listNames(e *env) {
	all := e.possible(append(names(), "x#0", "x.record", "x/record", "record", "2F", "_", "a0"))
	held := e.holdAll(e.u, all)
	for _, name := range all {
		if e.can(locks.CanRecord) {
			held[name].writes("of " + name)
		}
	}
	l := held["a"].lists(nil)
	for _, name := range all {
		record := "-"
		if e.can(locks.CanRecord) {
			record = "of " + name
		}
		l.has(held[name], true, record)
	}
	if len(l.all) != len(all) {
		e.Errorf("%d locks are listed; want %d", len(l.all), len(all))
	}
	var other = e.u
	e.unwatched(func() { other = e.c.URL(e.TB) })
	if l := e.openWith(other, e.options("elsewhere")).lists(nil); len(l.all) > 0 {
		e.Errorf("another store lists %d locks, such as %+v", len(l.all), l.all[0])
	}
}

// hostileList meets what no leaderrun wrote, in place of a lock or beside it. The other
// locks must be listed in any case.
func hostileList(e *env, corrupt func()) {
	a := e.open("a")
	a.hold()
	well := e.openNamed(e.u, "well")
	well.hold()
	well.keep()
	if e.can(locks.CanRecord) {
		a.writes("good")
		well.writes("also good")
	}
	e.operates(corrupt)
	w := e.openNamed(e.u, "other")
	e.bounded(2*e.prompt, "List", func() {
		l := w.lists(nil)
		well.isReported(l.find("well").Status, "is listed")
		for _, one := range l.all {
			e.Logf("%q: held %v, holder %q, record %q", one.Name, one.Status.Held, locks.Abbreviate(one.Status.Holder), locks.Abbreviate(string(one.Record)))
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), e.prompt)
	defer cancel()
	_, _, err := w.list(ctx, "a cursor that no list returned")
	e.harmless(err)
}
