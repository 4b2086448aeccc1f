// Package storetest checks what a [caslease.Store] promises, against the real server: a
// test of it is a [Config] and one call of [Run]. The lock that is made of it is for package
// lockstest, whose Config begins with [Conformance].
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
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// A Config says what is tested, and how to hurt it. What a nil field leaves untested
// is logged.
type Config struct {
	// Open makes another client of one and the same store. Required.
	Open func(t testing.TB) caslease.Store
	// Expiry and Follows are those of its [caslease.Traits].
	Expiry  caslease.Expiry
	Follows func(since, version string) bool

	// FailNext makes the next write to the store fail with a kind: Unknown, where
	// it takes effect and its answer is lost, or Throttled.
	FailNext func(t testing.TB, k caslease.Kind)
	// Unreachable makes a client of an address where nothing answers.
	Unreachable func(t testing.TB) caslease.Store
	// Hostile writes over a cell, where somebody else could do so too.
	Hostile []func(t testing.TB, k caslease.Key)
}

// patience bounds each test.
const patience = 30 * time.Second

// Run runs all tests.
func Run(t *testing.T, c Config) {
	for _, tt := range Tests() {
		t.Run(tt.Name, func(t *testing.T) { tt.Run(t, c) })
	}
}

// A Test is about one promise.
type Test struct {
	Name string
	Run  func(t testing.TB, c Config)
}

// Tests are those that Run runs.
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
		{"Unheard", unheard},
		{"Throttled", throttled},
		{"Unreachable", unreachable},
		{"Hostile", hostile},
		{"List", list},
		{"Watch", watch},
	}
}

// A bench is what a test works with.
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

// key is one that no other test uses.
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
		b.Errorf("the answer to a swap was %+v; what is read is %+v", c, now)
	}
	return c
}

// undated leaves out what differs between two answers about the same.
func undated(c caslease.Cell) caslease.Cell {
	c.Date, c.Updated = time.Time{}, c.Updated.Round(0).UTC()
	return c
}

// kind checks that an error is one of a kind.
func (b *bench) kind(what string, err error, want caslease.Kind) {
	b.Helper()
	if err == nil {
		b.Errorf("%s: no error; want the kind %d", what, want)
	} else if f := b.store.Fault(err); f.Kind != want {
		b.Errorf("%s: %v is %+v; want the kind %d", what, err, f, want)
	}
}

// absent: that there is no cell is no error, but nothing can be done to it.
func absent(t testing.TB, c Config) {
	b := open(t, c)
	k := key(caslease.Lease)
	if got := b.read(b.store, k); got.Version != "" {
		b.Errorf("read %+v", got)
	}
	other := key(caslease.Lease)
	at := b.swap(other, caslease.Cell{}, state(1))
	_, err := b.store.Swap(b.ctx, k, at, state(2))
	b.kind("a swap of what is not there", err, caslease.Changed)
	b.kind("a deletion of it", b.store.Delete(b.ctx, k, at), caslease.Changed)
	if got := b.read(b.store, k); got.Version != "" {
		b.Errorf("then there is %+v", got)
	}
}

// create makes a cell once.
func create(t testing.TB, c Config) {
	b := open(t, c)
	for _, p := range []caslease.Part{caslease.Lease, caslease.Request} {
		k := key(p)
		made := b.swap(k, caslease.Cell{}, state(1))
		if made.Version == "" || made.State != state(1).State || made.Record != nil || made.BadRecord || made.Foreign != "" {
			b.Errorf("made %+v", made)
		}
		_, err := b.store.Swap(b.ctx, k, caslease.Cell{}, state(2))
		b.kind("made once more", err, caslease.Changed)
		if got := b.read(b.store, k); got.State != made.State || got.Version != made.Version {
			b.Errorf("it was %+v and is %+v", made, got)
		}
	}
}

// swap: each change has another version, and what is not to be changed stays.
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
			b.Errorf("change %d: the version %q after %q", i, next.Version, at.Version)
		}
		seen[next.Version] = true
		at = next
	}
	if _, err := b.store.Swap(b.ctx, k, at, caslease.Value{Record: at.Record}); err != nil {
		b.Errorf("a swap that changes nothing: %v", err)
	}
}

// refused: a swap on another version writes nothing, neither state nor text.
func refused(t testing.TB, c Config) {
	b := open(t, c)
	k := key(caslease.Lease)
	old := b.swap(k, caslease.Cell{}, caslease.Value{State: `{"n":1}`, Record: []byte("x")})
	now := b.swap(k, old, state(2))
	for _, to := range []caslease.Value{state(3), {Record: []byte("y")}, {State: `{"n":3}`, Record: []byte("y")}} {
		_, err := b.store.Swap(b.ctx, k, old, to)
		b.kind("a swap of what was", err, caslease.Changed)
		if got := b.read(b.store, k); !reflect.DeepEqual(undated(got), undated(now)) {
			b.Errorf("refused, and it was %+v and is %+v", now, got)
		}
	}
	b.kind("a deletion of what was", b.store.Delete(b.ctx, k, old), caslease.Changed)
	b.swap(k, now, state(4))
}

// remove: a cell that was made anew has none of the old one's versions.
func remove(t testing.TB, c Config) {
	b := open(t, c)
	k := key(caslease.Lease)
	seen := map[string]caslease.Cell{}
	for range 4 {
		at := caslease.Cell{}
		for n := range 3 {
			at = b.swap(k, at, state(n))
			if before, ok := seen[at.Version]; ok {
				b.Errorf("the version of %+v was that of %+v", at, before)
			}
			seen[at.Version] = at
		}
		if err := b.store.Delete(b.ctx, k, at); err != nil {
			b.Fatalf("delete: %v", err)
		}
		if got := b.read(b.store, k); got.Version != "" {
			b.Errorf("deleted, and there is %+v", got)
		}
		b.kind("a deletion once more", b.store.Delete(b.ctx, k, at), caslease.Changed)
	}
}

// values are kept as they are, up to the greatest.
func values(t testing.TB, c Config) {
	b := open(t, c)
	padded := func(n int) string { return `{"é\u0000":"` + strings.Repeat("x", n-len(`{"é\u0000":""}`)) + `"}` }
	lease, request := key(caslease.Lease), key(caslease.Request)
	b.swap(request, caslease.Cell{}, caslease.Value{State: padded(caslease.MaxRequest)})
	if got := b.read(b.store, request); got.State != padded(caslease.MaxRequest) {
		b.Errorf("the largest request has become one of %d bytes", len(got.State))
	}
	at := b.swap(lease, caslease.Cell{}, caslease.Value{State: padded(caslease.MaxState)})
	for _, text := range []string{"x", "", " é\n\x00\x1b\"\\ ", "base64:", strings.Repeat("é", locks.MaxRecord/2)} {
		at = b.swap(lease, at, caslease.Value{Record: []byte(text)})
		if at.Record == nil || string(at.Record) != text || at.BadRecord || at.State != padded(caslease.MaxState) {
			b.Errorf("%q has become %q", locks.Abbreviate(text), locks.Abbreviate(string(at.Record)))
		}
	}
}

// apart: no two keys are one cell.
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
			b.Errorf("%v has become %+v; want %s", k, got, state)
		}
	}
}

// fresh: what one has written another reads at once.
func fresh(t testing.TB, c Config) {
	b := open(t, c)
	other, k, at := b.another(), key(caslease.Lease), caslease.Cell{}
	for n := range 50 {
		next, err := b.store.Swap(b.ctx, k, at, state(n))
		if err != nil {
			b.Fatal(err)
		}
		if got := b.read(other, k); got.State != next.State || got.Version != next.Version {
			b.Errorf("after the change %d another reads %+v", n, got)
		}
		at = next
	}
}

// oneWins: of those who swap the same, or make the same cell, one succeeds.
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
				b.kind("beside others", err, caslease.Changed)
				continue
			}
			winners++
			if cells[i].Version != now.Version || now.State != state(100*round+i).State {
				b.Errorf("%+v has won, and there is %+v", cells[i], now)
			}
		}
		if winners != 1 {
			b.Errorf("round %d: %d have won", round, winners)
		}
		at = now
	}
}

// noneLost: what each adds is there in the end.
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
		b.Errorf("%d have been added; there is %s", clients*each, got.State)
	}
}

// clocks: with each change Updated rises, and Date is a reading of the same clock.
func clocks(t testing.TB, c Config) {
	b := open(t, c)
	if c.Expiry == caslease.ByWatching {
		b.Log("the store tells no time")
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
			b.Errorf("changed at %v, then at %v, as is read %v", at.Updated, next.Updated, seen.Updated)
		}
		least, most := -time.Second, took+time.Second
		if c.Expiry == caslease.ByClock {
			least, most = 10*time.Millisecond, took+10*time.Millisecond
		}
		if age < least || age > most {
			b.Errorf("%v after the change its age is %v", took, age)
		}
		at = next
	}
}

func pause(d time.Duration) { time.Sleep(d) }

// tokens: First stays while there is the cell, Floor does not fall below it, and all
// rises when the cell was deleted.
func tokens(t testing.TB, c Config) {
	b := open(t, c)
	k, last := key(caslease.Lease), uint64(0)
	for range 3 {
		at := b.swap(k, caslease.Cell{}, state(0))
		first, floor := at.First, at.Floor
		if first <= last || floor < first {
			b.Errorf("first %d, floor %d after %d", first, floor, last)
		}
		for n := range 3 {
			at = b.swap(k, at, state(n+1))
			if at.First != first || at.Floor < floor || at.Floor >= 1<<62 {
				b.Errorf("first %d, floor %d after %d, %d", at.First, at.Floor, first, floor)
			}
			floor = at.Floor
		}
		last = max(last, floor)
		if err := b.store.Delete(b.ctx, k, at); err != nil {
			b.Fatal(err)
		}
	}
}

// contexts: what is given up ends at once, and is not taken for a refusal.
func contexts(t testing.TB, c Config) {
	b := open(t, c)
	ended, cancel := context.WithCancel(b.ctx)
	cancel()
	k := key(caslease.Lease)
	_, reading := b.store.Read(ended, k)
	_, writing := b.store.Swap(ended, k, caslease.Cell{}, state(1))
	for what, err := range map[string]error{"read": reading, "swap": writing} {
		if err == nil {
			b.Errorf("%s: no error, though it was given up", what)
		} else if f := b.store.Fault(err); f.Kind != caslease.Unknown && f.Kind != caslease.Unsent {
			b.Errorf("%s: %v is %+v", what, err, f)
		}
	}
	b.swap(k, b.read(b.store, k), state(2)) // the client is of use even so
}

// unheard: of a write whose answer is lost nothing is known, and what it did is seen.
func unheard(t testing.TB, c Config) {
	b := open(t, c)
	if c.FailNext == nil {
		b.Log("not tested: Next is not declared")
		return
	}
	k := key(caslease.Lease)
	at := caslease.Cell{}
	for n := range 2 {
		c.FailNext(b, caslease.Unknown)
		_, err := b.store.Swap(b.ctx, k, at, state(n))
		b.kind("a swap whose answer is lost", err, caslease.Unknown)
		if at = b.read(b.store, k); at.State != state(n).State {
			b.Errorf("it took effect, and there is %+v", at)
		}
	}
}

// throttled: a write that came too soon writes nothing.
func throttled(t testing.TB, c Config) {
	b := open(t, c)
	if c.FailNext == nil {
		b.Log("not tested: Next is not declared")
		return
	}
	k := key(caslease.Lease)
	at := b.swap(k, caslease.Cell{}, state(1))
	c.FailNext(b, caslease.Throttled)
	_, err := b.store.Swap(b.ctx, k, at, state(2))
	b.kind("a swap that came too soon", err, caslease.Throttled)
	if got := b.read(b.store, k); got.Version != at.Version {
		b.Errorf("refused, and there is %+v", got)
	}
}

// unreachable: an address where nobody is.
func unreachable(t testing.TB, c Config) {
	b := open(t, c)
	if c.Unreachable == nil {
		b.Log("not tested: Away is not declared")
		return
	}
	b.store = c.Unreachable(b)
	b.Cleanup(func() { _ = b.store.Close() })
	_, err := b.store.Read(b.ctx, key(caslease.Lease))
	b.kind("where nobody is", err, caslease.Unreachable)
	if f := b.store.Fault(err); f.Text == "" || f.Hint == "" || strings.ContainsAny(f.Text+f.Hint, "\n\x1b") {
		b.Errorf("where nobody is: %+v", f)
	}
}

// hostile: what somebody else has written is read without an error, and told apart.
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
		b.kind("a swap of what was there before", err, caslease.Changed)
	}
}

// list has the cells of all leases, once, as they are read.
func list(t testing.TB, c Config) {
	b := open(t, c)
	l, ok := b.store.(caslease.Lister)
	if !ok {
		b.Log("not tested: the store lists nothing")
		return
	}
	want := map[string]caslease.Cell{}
	for n := range locks.MaxList + 2 {
		k := key(caslease.Lease)
		want[k.Name] = b.swap(k, caslease.Cell{}, caslease.Value{State: state(n).State, Record: []byte("x")})
	}
	b.swap(key(caslease.Request), caslease.Cell{}, state(0))
	seen := map[string]bool{}
	for cursor, pages := "", 0; ; pages++ {
		page, next, err := l.List(b.ctx, cursor)
		if err != nil || len(page) > locks.MaxList || locks.CheckCursor(next) != nil || pages > 1000 {
			b.Fatalf("the page %d of %d, then %q: %v", pages, len(page), next, err)
		}
		for _, e := range page {
			if seen[e.Name] {
				b.Errorf("%s is listed twice", e.Name)
			}
			seen[e.Name] = true
			if is, ok := want[e.Name]; ok && !reflect.DeepEqual(undated(e.Cell), undated(is)) {
				b.Errorf("listed %+v; it is %+v", e.Cell, is)
			}
			if got := b.read(b.store, caslease.Key{Name: e.Name}); got.Version == "" {
				b.Errorf("%q is listed, and there is no such cell", e.Name)
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

// watch tells of changes by others, of either part, and ends with its context.
func watch(t testing.TB, c Config) {
	b := open(t, c)
	w, ok := b.store.(caslease.Watcher)
	if !ok {
		b.Log("not tested: the store tells of no changes")
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
		b.told(one, "a change of the lock")
		b.told(all, "a change of any")
	}
	if err := other.Delete(b.ctx, k, b.read(other, k)); err != nil {
		b.Fatal(err)
	}
	b.told(one, "a deletion")
	cancel()
	for deadline := time.After(patience); ; {
		select {
		case _, open := <-one:
			if !open {
				return
			}
		case <-deadline:
			b.Fatal("the channel stays open")
		}
	}
}

func (b *bench) told(c <-chan struct{}, what string) {
	b.Helper()
	select {
	case _, ok := <-c:
		if !ok {
			b.Fatalf("%s: the channel was closed", what)
		}
	case <-b.ctx.Done():
		b.Fatalf("%s was not told of", what)
	}
}
