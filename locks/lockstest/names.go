package lockstest

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// names returns names that a careless mapping would merge: by case, by escaping, by
// prefix, by cutting long names, as the backend's own files, and as slots of each other.
func names() []string {
	long := strings.Repeat("x", 199)
	deep := strings.Repeat("d/", 99)
	return []string{
		"a", "a/b", "a.b", "A", "a:b", "a@b", "a-b", "a_b", "ab", "a/b/c", "a2Fb", "a/b.lock",
		"a.lock", "a.token", "a.json", "a.tmp", ".a", "-a", "lock", "locks", "token", "tokens", "...", "a..b", ":", "@",
		"a#0", "a#1", "a#12", "a#64", "a/b#1", "A#1", "a1", "a.1", "a-1", "a231", "slots", "slot/1", long + "1#64", long + "1#63",
		long + "1", long + "2", strings.ToUpper(long) + "1", deep + "1", deep + "2", strings.Repeat("/x", 99)[1:],
	}
}

// possible returns those of the names that the backend takes.
func (e *env) possible(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		_, slot := locks.CutSlot(name)
		return e.c.NoSlots && slot >= 0
	})
}

// namesAreIndependent holds all of them at once, taken in either order in a new store.
func namesAreIndependent(e *env) {
	all := e.possible(names())
	areIndependent(e, e.u, all)
	slices.Reverse(all)
	var other *url.URL
	e.unwatched(func() { other = e.c.URL(e.TB) })
	areIndependent(e, other, all)
}

func areIndependent(e *env, u *url.URL, all []string) {
	held := e.holdAll(u, all)
	for _, name := range all {
		e.openNamed(u, name).refused()
	}
	held["a"].release()
	for _, name := range []string{"a/b", "A", "a.b", "ab"} {
		e.openNamed(u, name).refused()
	}
	e.openNamed(u, "a").hold()
}

// holdAll gets all locks, in this order, and returns their holders by name.
func (e *env) holdAll(u *url.URL, names []string) map[string]*contender {
	e.Helper()
	held := map[string]*contender{}
	for _, name := range names {
		held[name] = e.openNamed(u, name)
	}
	e.each(names, func(name string) {
		if _, err := held[name].try(); err != nil {
			e.Errorf("hold %q while other names are held: %v", name, err)
		}
		held[name].keep()
	})
	if e.Failed() {
		e.FailNow()
	}
	return held
}

// each calls f for each name, for several at a time if a new name takes long.
func (e *env) each(names []string, f func(name string)) {
	var wg sync.WaitGroup
	few := make(chan struct{}, 1)
	if e.c.SlowNames {
		few = make(chan struct{}, 8)
	}
	for _, name := range names {
		few <- struct{}{}
		wg.Go(func() {
			defer func() { <-few }()
			f(name)
		})
	}
	wg.Wait()
}

// openNamed opens a contender with a long lease, which it seldom renews.
func (e *env) openNamed(u *url.URL, name string) *contender {
	e.Helper()
	k := e.openWith(u, e.named(name))
	k.seldom = true
	return k
}

// named returns options with a long lease: there may be many, and a server that does one thing
// at a time has others to serve.
func (e *env) named(name string) locks.Options {
	o := e.longer("holder of " + name)
	if e.c.TTL > 0 {
		o.TTL = max(o.TTL, time.Minute)
	}
	o.Name = name
	return o
}
