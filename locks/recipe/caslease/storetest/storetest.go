// Package storetest checks that a [caslease.Store] keeps its promises, against the real
// server. A test needs a [Config] and one call of [Run]. The lock over the store is tested by
// package lockstest; [Conformance] returns the beginning of its Config.
package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// A Config says what is tested, and how to harm it. If a nil field leaves something untested,
// the log says so.
type Config struct {
	// Open makes another client of the same store. It is required.
	Open func(t testing.TB) caslease.Store
	// Expiry and Follows are from the store's [caslease.Traits].
	Expiry  caslease.Expiry
	Follows func(since, version string) bool

	// FailNext makes the next write to the store fail with a kind. If that is Unknown, the
	// write takes effect and its answer is lost. The other kind is Throttled.
	FailNext func(t testing.TB, k causes.Kind)
	// Unreachable makes a client of an address where nothing answers.
	Unreachable func(t testing.TB) caslease.Store
	// Hostile overwrites a cell, if others can do so.
	Hostile []func(t testing.TB, k caslease.Key)
}

// patience bounds each test, on a busy machine too.
const patience = 2 * time.Minute

// Run runs all tests.
func Run(t *testing.T, c Config) {
	for _, tt := range Tests() {
		t.Run(tt.Name, func(t *testing.T) {
			if c.Expiry == caslease.ByLease && tt.Name != "LostAnswer" && tt.Name != "Throttled" { // whose writes fail must run alone
				t.Parallel() // a creation may take a second
			}
			tt.Run(t, c)
		})
	}
}

// A Test checks one promise.
type Test struct {
	Name string
	Run  func(t testing.TB, c Config)
}

// Tests returns the tests that Run runs.
func Tests() []Test {
	return []Test{
		{"Absent", absent},
		{"Create", create},
		{"Swap", swap},
		{"Refused", refused},
		{"Delete", remove},
		{"Values", values},
		{"CellsApart", apart},
		{"ReadsAreFresh", fresh},
		{"OneWins", oneWins},
		{"NoUpdateIsLost", noneLost},
		{"Clock", clocks},
		{"Tokens", tokens},
		{"Context", contexts},
		{"LostAnswer", lostAnswer},
		{"Throttled", throttled},
		{"Unreachable", unreachable},
		{"Hostile", hostile},
		{"List", list},
		{"Watch", watch},
	}
}

// A bench is what a test works with: a store, and its context.
type bench struct {
	testing.TB
	c     Config
	ctx   context.Context
	store caslease.Store
}

func open(t testing.TB, c Config) *bench {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	b := &bench{TB: t, c: c, ctx: ctx}
	b.store = b.another()
	return b
}

func (b *bench) another() caslease.Store {
	s := b.c.Open(b.TB)
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// key returns a key that no other test uses.
func key(p caslease.Part) caslease.Key { return caslease.Key{Name: "t/" + rand.Text(), Part: p} }

func state(n int) caslease.Value { return caslease.Value{State: fmt.Sprintf(`{"n":%d}`, n)} }

func (b *bench) read(s caslease.Store, k caslease.Key) caslease.Cell {
	b.Helper()
	c, err := s.Read(b.ctx, k)
	if err != nil {
		b.Fatalf("read %v: %v", k, err)
	}
	return c
}

func (b *bench) swap(k caslease.Key, at caslease.Cell, to caslease.Value) caslease.Cell {
	b.Helper()
	c, err := b.store.Swap(b.ctx, k, at, to)
	if err != nil {
		b.Fatalf("swap %v: %v", k, err)
	}
	if now := b.read(b.store, k); !reflect.DeepEqual(undated(now), undated(c)) {
		b.Errorf("a swap returned %+v; then a read returned %+v", c, now)
	}
	return c
}

// undated returns a cell without what differs between two answers about the same cell.
func undated(c caslease.Cell) caslease.Cell {
	c.Date, c.Next, c.Updated = time.Time{}, 0, c.Updated.Round(0).UTC()
	return c
}

// kind checks the kind of an error.
func (b *bench) kind(what string, err error, want causes.Kind) {
	b.Helper()
	if err == nil {
		b.Errorf("%s: no error; want kind %d", what, want)
	} else if f := b.store.Fault(err); f.Kind != want {
		b.Errorf("%s: %v is %+v; want kind %d", what, err, f, want)
	}
}

// absent: a missing cell is not an error, but it cannot be changed or deleted.
func absent(t testing.TB, c Config) {
	b := open(t, c)
	k := key(caslease.Lease)
	if got := b.read(b.store, k); got.Version != "" {
		b.Errorf("read %+v", got)
	}
	other := key(caslease.Lease)
	at := b.swap(other, caslease.Cell{}, state(1))
	_, err := b.store.Swap(b.ctx, k, at, state(2))
	b.kind("a swap of a missing cell", err, causes.Changed)
	b.kind("a deletion of a missing cell", b.store.Delete(b.ctx, k, at), causes.Changed)
	if got := b.read(b.store, k); got.Version != "" {
		b.Errorf("afterwards the cell is %+v", got)
	}
}

// create: a cell can be created once.
func create(t testing.TB, c Config) {
	b := open(t, c)
	for _, p := range []caslease.Part{caslease.Lease, caslease.Request} {
		k := key(p)
		made := b.swap(k, caslease.Cell{}, state(1))
		if made.Version == "" || made.State != state(1).State || made.Record != nil || made.BadRecord || made.Foreign != "" {
			b.Errorf("created %+v", made)
		}
		_, err := b.store.Swap(b.ctx, k, caslease.Cell{}, state(2))
		b.kind("a second creation", err, causes.Changed)
		if got := b.read(b.store, k); got.State != made.State || got.Version != made.Version {
			b.Errorf("the cell was %+v and is %+v", made, got)
		}
	}
}

// swap: each change has a new version, and what it does not set stays.
func swap(t testing.TB, c Config) {
	b := open(t, c)
	k := key(caslease.Lease)
	at := caslease.Cell{}
	seen := map[string]bool{"": true}
	want := caslease.Cell{}
	for i, to := range []caslease.Value{
		state(1), {Record: []byte("x")}, state(2), {State: `{"n":3}`, Silent: true}, {State: `{"n":4}`, Record: []byte{}}, {Record: []byte("y")}, {Record: []byte("z")}, {Record: []byte("y")}, state(5), state(1),
	} {
		next := b.swap(k, at, to)
		if to.State != "" {
			want.State = to.State
		}
		if to.Record != nil {
			want.Record = to.Record
		}
		if next.State != want.State || string(next.Record) != string(want.Record) || (next.Record == nil) != (want.Record == nil) {
			b.Errorf("change %d: got %+v, want %q %q", i, next, want.State, want.Record)
		}
		if seen[next.Version] || c.Follows != nil && !c.Follows(at.Version, next.Version) {
			b.Errorf("change %d: version %q after %q", i, next.Version, at.Version)
		}
		seen[next.Version] = true
		at = next
	}
	if _, err := b.store.Swap(b.ctx, k, at, caslease.Value{Record: at.Record}); err != nil {
		b.Errorf("a swap that changes nothing: %v", err)
	}
}

// refused: a swap of an old version writes nothing, neither the state nor the record.
func refused(t testing.TB, c Config) {
	b := open(t, c)
	k := key(caslease.Lease)
	old := b.swap(k, caslease.Cell{}, caslease.Value{State: `{"n":1}`, Record: []byte("x")})
	now := b.swap(k, old, state(2))
	for _, to := range []caslease.Value{state(3), {Record: []byte("y")}, {State: `{"n":3}`, Record: []byte("y")}} {
		_, err := b.store.Swap(b.ctx, k, old, to)
		b.kind("a swap of an old version", err, causes.Changed)
		if got := b.read(b.store, k); !reflect.DeepEqual(undated(got), undated(now)) {
			b.Errorf("a refused swap changed %+v to %+v", now, got)
		}
	}
	b.kind("a deletion of an old version", b.store.Delete(b.ctx, k, old), causes.Changed)
	b.swap(k, now, state(4))
}

// remove: a cell that is created again has none of its former versions.
func remove(t testing.TB, c Config) {
	b := open(t, c)
	k := key(caslease.Lease)
	seen := map[string]caslease.Cell{}
	for range 4 {
		at := caslease.Cell{}
		for n := range 3 {
			at = b.swap(k, at, state(n))
			if before, ok := seen[at.Version]; ok {
				b.Errorf("%+v has the version of %+v", at, before)
			}
			seen[at.Version] = at
		}
		if err := b.store.Delete(b.ctx, k, at); err != nil {
			b.Fatalf("delete: %v", err)
		}
		if got := b.read(b.store, k); got.Version != "" {
			b.Errorf("after the deletion the cell is %+v", got)
		}
		b.kind("a second deletion", b.store.Delete(b.ctx, k, at), causes.Changed)
	}
}

// values: all values up to the largest are stored unchanged.
func values(t testing.TB, c Config) {
	b := open(t, c)
	padded := func(n int) string { return `{"é\u0000":"` + strings.Repeat("x", n-len(`{"é\u0000":""}`)) + `"}` }
	lease, request := key(caslease.Lease), key(caslease.Request)
	b.swap(request, caslease.Cell{}, caslease.Value{State: padded(caslease.MaxRequest)})
	if got := b.read(b.store, request); got.State != padded(caslease.MaxRequest) {
		b.Errorf("the largest request came back with %d bytes", len(got.State))
	}
	at := b.swap(lease, caslease.Cell{}, caslease.Value{State: padded(caslease.MaxState)})
	for _, text := range []string{"x", "", " é\n\x00\x1b\"\\ ", "base64:", strings.Repeat("é", locks.MaxRecord/2)} {
		at = b.swap(lease, at, caslease.Value{Record: []byte(text)})
		if at.Record == nil || string(at.Record) != text || at.BadRecord || at.State != padded(caslease.MaxState) {
			b.Errorf("%q came back as %q", locks.Abbreviate(text), locks.Abbreviate(string(at.Record)))
		}
	}
}

// apart: any two keys are different cells.
func apart(t testing.TB, c Config) {
	b := open(t, c)
	base := "t/" + rand.Text()
	long := strings.Repeat("x", locks.MaxName)
	names := []string{base, base + "/ask", base + "-ask", base + ":1", base + "/1", strings.ToLower(base), locks.SlotName(base, 1), locks.SlotName(base, 11), long, locks.SlotName(long, locks.MaxSlot)}
	want := map[caslease.Key]string{}
	for i, name := range names {
		for _, p := range []caslease.Part{caslease.Lease, caslease.Request} {
			k := caslease.Key{Name: name, Part: p}
			want[k] = state(2*i + int(p)).State
			b.swap(k, b.read(b.store, k), state(2*i+int(p)))
		}
	}
	for k, state := range want {
		if got := b.read(b.store, k); got.State != state {
			b.Errorf("%v is %+v; want %s", k, got, state)
		}
	}
}

// fresh: a client reads at once what another has written.
func fresh(t testing.TB, c Config) {
	b := open(t, c)
	other, k, at := b.another(), key(caslease.Lease), caslease.Cell{}
	for n := range 50 {
		next, err := b.store.Swap(b.ctx, k, at, state(n))
		if err != nil {
			b.Fatal(err)
		}
		if got := b.read(other, k); got.State != next.State || got.Version != next.Version {
			b.Errorf("after change %d another client reads %+v", n, got)
		}
		at = next
	}
}

// oneWins: if several clients swap the same version, or create the same cell, one succeeds.
func oneWins(t testing.TB, c Config) {
	b := open(t, c)
	stores := []caslease.Store{b.store, b.another(), b.another(), b.another()}
	k, at := key(caslease.Lease), caslease.Cell{}
	for round := range 10 {
		errs := make([]error, len(stores))
		cells := make([]caslease.Cell, len(stores))
		var wg sync.WaitGroup
		for i, s := range stores {
			wg.Go(func() { cells[i], errs[i] = s.Swap(b.ctx, k, at, state(100*round+i)) })
		}
		wg.Wait()
		now, winners := b.read(b.store, k), 0
		for i, err := range errs {
			if err != nil {
				b.kind("a concurrent swap", err, causes.Changed)
				continue
			}
			winners++
			if cells[i].Version != now.Version || now.State != state(100*round+i).State {
				b.Errorf("the swap to %+v succeeded, but the cell is %+v", cells[i], now)
			}
		}
		if winners != 1 {
			b.Errorf("round %d: %d swaps succeeded; want 1", round, winners)
		}
		at = now
	}
}

// noneLost: concurrent increments are all there in the end.
func noneLost(t testing.TB, c Config) {
	b := open(t, c)
	const clients, each = 4, 10
	k := key(caslease.Lease)
	b.swap(k, caslease.Cell{}, state(0))
	var wg sync.WaitGroup
	for range clients {
		s := b.another()
		wg.Go(func() {
			for done := 0; done < each && b.ctx.Err() == nil; {
				at, err := s.Read(b.ctx, k)
				var n int
				if err == nil {
					_, err = fmt.Sscanf(at.State, `{"n":%d}`, &n)
				}
				if err == nil {
					_, err = s.Swap(b.ctx, k, at, state(n+1))
				}
				if err == nil {
					done++
				}
			}
		})
	}
	wg.Wait()
	if got := b.read(b.store, k); got.State != state(clients*each).State {
		b.Errorf("after %d increments the state is %s", clients*each, got.State)
	}
}

// clocks: Updated rises with each change, and Date is by the same clock.
func clocks(t testing.TB, c Config) {
	b := open(t, c)
	if c.Expiry == caslease.ByWatching || c.Expiry == caslease.ByLease {
		b.Log("not tested: nobody relies on the store's clock")
		return
	}
	k, at := key(caslease.Lease), caslease.Cell{}
	for n := range 5 {
		start := time.Now()
		next := b.swap(k, at, state(n))
		pause(20 * time.Millisecond) // the resolution of some stores' clocks is a millisecond
		seen := b.read(b.store, k)
		age, took := seen.Date.Sub(seen.Updated), time.Since(start)
		if !next.Updated.After(at.Updated) || !seen.Updated.Equal(next.Updated) {
			b.Errorf("changed at %v, then at %v; a read says %v", at.Updated, next.Updated, seen.Updated)
		}
		least, most := -time.Second, took+time.Second
		if c.Expiry == caslease.ByClock {
			least, most = 10*time.Millisecond, took+10*time.Millisecond
		}
		if age < least || age > most {
			b.Errorf("%v after the change the age is %v", took, age)
		}
		at = next
	}
}

func pause(d time.Duration) { time.Sleep(d) }

// tokens: First stays while the cell exists, Floor is at least First, and both are higher
// after the cell was deleted and created again. Then First is at least what Next was.
func tokens(t testing.TB, c Config) {
	b := open(t, c)
	k, last, next := key(caslease.Lease), uint64(0), uint64(0)
	for range 3 {
		at := b.swap(k, caslease.Cell{}, state(0))
		first, floor := at.First, at.Floor
		if first <= last || first < next || floor < first {
			b.Errorf("first %d, floor %d after %d, %d", first, floor, last, next)
		}
		for n := range 3 {
			at = b.swap(k, at, state(n+1))
			if at.First != first || at.Floor < floor || at.Floor >= 1<<62 {
				b.Errorf("first %d, floor %d after %d, %d", at.First, at.Floor, first, floor)
			}
			floor = at.Floor
		}
		last, next = max(last, floor), b.read(b.store, k).Next
		if err := b.store.Delete(b.ctx, k, at); err != nil {
			b.Fatal(err)
		}
	}
}

// contexts: a call whose context has ended returns at once, and its error is not a refusal.
func contexts(t testing.TB, c Config) {
	b := open(t, c)
	ended, cancel := context.WithCancel(b.ctx)
	cancel()
	k := key(caslease.Lease)
	_, reading := b.store.Read(ended, k)
	_, writing := b.store.Swap(ended, k, caslease.Cell{}, state(1))
	for what, err := range map[string]error{"read": reading, "swap": writing} {
		if err == nil {
			b.Errorf("%s: no error, though its context had ended", what)
		} else if f := b.store.Fault(err); f.Kind != causes.Unknown && f.Kind != causes.Unsent {
			b.Errorf("%s: %v is %+v", what, err, f)
		}
	}
	b.swap(k, b.read(b.store, k), state(2)) // the client still works
}

// lostAnswer: the kind of a write whose answer was lost is Unknown, and its effect is seen.
func lostAnswer(t testing.TB, c Config) {
	b := open(t, c)
	if c.FailNext == nil {
		b.Log("not tested: FailNext is nil")
		return
	}
	k := key(caslease.Lease)
	at := caslease.Cell{}
	for n := range 2 {
		c.FailNext(b, causes.Unknown)
		_, err := b.store.Swap(b.ctx, k, at, state(n))
		b.kind("a swap whose answer was lost", err, causes.Unknown)
		if at = b.read(b.store, k); at.State != state(n).State {
			b.Errorf("the write took effect, but the cell is %+v", at)
		}
	}
}

// throttled: a write that is refused for coming too soon changes nothing.
func throttled(t testing.TB, c Config) {
	b := open(t, c)
	if c.FailNext == nil {
		b.Log("not tested: FailNext is nil")
		return
	}
	k := key(caslease.Lease)
	at := b.swap(k, caslease.Cell{}, state(1))
	c.FailNext(b, causes.Throttled)
	_, err := b.store.Swap(b.ctx, k, at, state(2))
	b.kind("a swap that came too soon", err, causes.Throttled)
	if got := b.read(b.store, k); got.Version != at.Version {
		b.Errorf("after the refused write the cell is %+v", got)
	}
}

// unreachable: nothing answers at the address.
func unreachable(t testing.TB, c Config) {
	b := open(t, c)
	if c.Unreachable == nil {
		b.Log("not tested: Unreachable is nil")
		return
	}
	b.store = c.Unreachable(b)
	b.Cleanup(func() { _ = b.store.Close() })
	_, err := b.store.Read(b.ctx, key(caslease.Lease))
	b.kind("a read", err, causes.Unreachable)
	if f := b.store.Fault(err); f.Text == "" || f.Hint == "" || strings.ContainsAny(f.Text+f.Hint, "\n\x1b") {
		b.Errorf("a read: %+v; want a text and a hint of one line each", f)
	}
}

// hostile: anything that somebody else wrote can be read without an error, as another version.
func hostile(t testing.TB, c Config) {
	b := open(t, c)
	for i, spoil := range c.Hostile {
		k := key(caslease.Lease)
		at := b.swap(k, caslease.Cell{}, state(1))
		spoil(b, k)
		got := b.read(b.store, k)
		if got.Version == "" || got.Version == at.Version || len(got.State) > caslease.MaxRead && got.Foreign == "" {
			b.Errorf("%d: read %q %q, %d bytes, after %q", i, got.Version, got.Foreign, len(got.State), at.Version)
		}
		_, err := b.store.Swap(b.ctx, k, at, state(2))
		b.kind("a swap of the version before", err, causes.Changed)
	}
}

// list: a list has the cell of each lease once, as Read returns it.
func list(t testing.TB, c Config) {
	b := open(t, c)
	l, ok := b.store.(caslease.Lister)
	if !ok {
		b.Log("not tested: the store is not a Lister")
		return
	}
	want := map[string]caslease.Cell{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	few := make(chan struct{}, 1) // a server that has one transaction at a time makes others wait long
	if c.Expiry == caslease.ByLease {
		few = make(chan struct{}, 8) // a creation may take a second
	}
	for n := range locks.MaxList + 2 {
		few <- struct{}{}
		wg.Go(func() {
			defer func() { <-few }()
			k := key(caslease.Lease)
			made, err := b.store.Swap(b.ctx, k, caslease.Cell{}, caslease.Value{State: state(n).State, Record: []byte("x")})
			if err != nil {
				b.Errorf("create %v: %v", k, err)
			}
			mu.Lock()
			defer mu.Unlock()
			want[k.Name] = made
		})
	}
	wg.Wait()
	b.swap(key(caslease.Request), caslease.Cell{}, state(0))
	seen := map[string]bool{}
	for cursor, pages := "", 0; ; pages++ {
		page, next, err := l.List(b.ctx, cursor)
		if err != nil || len(page) > locks.MaxList || locks.CheckCursor(next) != nil || pages > 1000 {
			b.Fatalf("page %d has %d cells, then comes %q: %v", pages, len(page), next, err)
		}
		for _, e := range page {
			if seen[e.Name] {
				b.Errorf("%s is listed twice", e.Name)
			}
			seen[e.Name] = true
			if is, ok := want[e.Name]; ok && !reflect.DeepEqual(undated(e.Cell), undated(is)) {
				b.Errorf("listed %+v; the cell is %+v", e.Cell, is)
			}
			if got := b.read(b.store, caslease.Key{Name: e.Name}); got.Version == "" {
				b.Errorf("%q is listed, but there is no such cell", e.Name)
			}
			delete(want, e.Name)
		}
		if cursor = next; next == "" {
			break
		}
	}
	if len(want) > 0 {
		b.Errorf("not listed: %v", want)
	}
}

// watch: a watch reports changes by others to either part, and ends with its context.
func watch(t testing.TB, c Config) {
	b := open(t, c)
	w, ok := b.store.(caslease.Watcher)
	if !ok {
		b.Log("not tested: the store is not a Watcher")
		return
	}
	other, k := b.another(), key(caslease.Lease)
	ctx, cancel := context.WithCancel(b.ctx)
	one, err := w.Watch(ctx, k.Name)
	if err != nil {
		b.Fatal(err)
	}
	all, err := w.Watch(ctx, "")
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range []caslease.Part{caslease.Lease, caslease.Request, caslease.Lease} {
		k.Part = p
		at := b.read(other, k)
		if _, err := other.Swap(b.ctx, k, at, caslease.Value{State: `{"s":"` + rand.Text() + `"}`}); err != nil {
			b.Fatal(err)
		}
		b.reported(one, "a change of the lock")
		b.reported(all, "a change of any")
	}
	if err := other.Delete(b.ctx, k, b.read(other, k)); err != nil {
		b.Fatal(err)
	}
	b.reported(one, "a deletion")
	cancel()
	for deadline := time.After(patience); ; {
		select {
		case _, open := <-one:
			if !open {
				return
			}
		case <-deadline:
			b.Fatal("the channel is still open")
		}
	}
}

func (b *bench) reported(c <-chan struct{}, what string) {
	b.Helper()
	select {
	case _, ok := <-c:
		if !ok {
			b.Fatalf("%s: the channel was closed", what)
		}
	case <-b.ctx.Done():
		b.Fatalf("%s was not reported", what)
	}
}
