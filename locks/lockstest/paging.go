package lockstest

import (
	"fmt"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
)

// stock makes n locks that nobody holds and that have a record.
func (e *env) stock(n int) (all []*contender) {
	e.Helper()
	all = make([]*contender, n)
	var wg sync.WaitGroup
	turns := make(chan struct{}, 8)
	for i := range all {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			var err error
			name := fmt.Sprintf("m/%03d", i)
			if all[i], err = e.leaveRecord(name, name); err != nil {
				e.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait()
	if e.Failed() {
		e.FailNow()
	}
	return all
}

// listPages lists more locks than fit on a page, some of them held.
func listPages(e *env) {
	free := e.stock(locks.MaxList + 5)
	var held []*contender
	for _, name := range []string{"A", "m", "m/010/x", "z"} {
		k := e.openNamed(e.u, name)
		k.hold()
		k.keep()
		held = append(held, k)
	}
	for range 2 {
		l := held[0].lists(nil)
		for _, k := range free {
			l.has(k, false, k.o.Name)
		}
		for _, k := range held {
			l.has(k, true, "-")
		}
		if want := len(free) + len(held); len(l.all) != want || l.pages < 2 {
			e.Errorf("%d locks are listed on %d pages; want %d locks", len(l.all), l.pages, want)
		}
	}
}

// listDuringChanges lets locks come and go between the pages. Those that are held all the
// time must be listed once.
func listDuringChanges(e *env) {
	var held []*contender
	for i, k := range e.stock(locks.MaxList + 5) {
		if i%8 == 3 {
			held = append(held, e.openNamed(e.u, k.o.Name))
		}
	}
	hold := func(prefix string) (some []*contender) {
		for i := range 10 {
			k := e.openNamed(e.u, fmt.Sprint(prefix, i))
			k.hold()
			k.keep()
			some = append(some, k)
		}
		return some
	}
	for _, k := range held {
		k.hold()
		k.keep()
	}
	check := func(what string, between func()) {
		l := held[0].lists(between)
		for _, k := range held {
			if one := l.find(k.o.Name); !one.Status.Held {
				e.Errorf("%s: %q is held, but listed with %+v", what, k.o.Name, one.Status)
			}
		}
	}
	early, late := hold("A"), hold("z")
	check("when locks become free", func() {
		for _, k := range append(early, late...) {
			k.release()
		}
	})
	check("when locks come", func() { hold("B"); hold("y") })
}
