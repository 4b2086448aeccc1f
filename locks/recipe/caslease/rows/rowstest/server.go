package rowstest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// A Server is a server with an empty database. Its methods fail the test if they cannot do what
// they say.
type Server interface {
	// Exec runs statements, and returns the rows of the last.
	Exec(statements ...string) [][]string
	// Kill ends the server as a crash does, and Start starts it again.
	Kill()
	Start()
}

// A Config is what Run tests.
type Config struct {
	Start func(t *testing.T) (s Server, open func() caslease.Store)
	Age   string // a statement that makes all rows an hour older
	Fill  string // a statement that adds 200 rows, whose names no lock can have and that are before all others
}

// Run tests that the store creates its table, its versions, its clock and its lists.
func Run(t *testing.T, c Config) {
	for name, test := range map[string]func(*bench){
		"FirstSwap": firstSwap, "VersionsNeverComeAgain": versionsNeverComeAgain, "ExpiryByClock": expiryByClock, "ListPages": listPages,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), realserver.Ready)
			t.Cleanup(cancel)
			b := &bench{T: t, c: c, ctx: ctx}
			b.server, b.open = c.Start(t)
			b.store = b.open()
			test(b)
		})
	}
}

// A bench is what a test works with.
type bench struct {
	*testing.T
	c      Config
	ctx    context.Context
	server Server
	open   func() caslease.Store
	store  caslease.Store
}

var jobs = caslease.Key{Name: "jobs"}

func (b *bench) swap(at caslease.Cell, minAge time.Duration) caslease.Cell {
	b.Helper()
	c, err := b.store.Swap(b.ctx, jobs, at, caslease.Value{State: "{}", MinAge: minAge})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func (b *bench) read() caslease.Cell {
	b.Helper()
	c, err := b.store.Read(b.ctx, jobs)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// refused checks that a swap is refused because the cell has changed, or is too young.
func (b *bench) refused(at caslease.Cell, minAge time.Duration) {
	b.Helper()
	_, err := b.store.Swap(b.ctx, jobs, at, caslease.Value{State: "{}", MinAge: minAge})
	if err == nil || b.store.Fault(err).Kind != causes.Changed {
		b.Errorf("got %v; want an error of the kind Changed", err)
	}
}

// firstSwap lets many stores create the table and the first cell at the same time: only one of
// them has created the cell.
func firstSwap(b *bench) {
	var made atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		s := b.open()
		all.Go(func() {
			_, err := s.Swap(b.ctx, jobs, caslease.Cell{}, caslease.Value{State: "{}"})
			if err == nil {
				made.Add(1)
			} else if s.Fault(err).Kind != causes.Changed {
				b.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 {
		b.Errorf("%d stores have created the cell; want 1", made.Load())
	}
}

// versionsNeverComeAgain checks that a cell that was deleted and created again, or whose table
// was, has neither a version nor a token of an earlier cell.
func versionsNeverComeAgain(b *bench) {
	old := b.swap(caslease.Cell{}, 0)
	if old.First != old.Floor {
		b.Errorf("a new cell is %+v", old)
	}
	for range 100 {
		old = b.swap(old, 0)
	}
	for _, loss := range []func(){
		func() {
			if err := b.store.Delete(b.ctx, jobs, old); err != nil {
				b.Fatal(err)
			}
		},
		func() { b.server.Exec("DROP TABLE leaderrun_locks") },
	} {
		loss()
		if c := b.read(); c.Version != "" {
			b.Errorf("after the deletion, the cell is %+v", c)
		}
		b.refused(old, 0)
		made := b.swap(caslease.Cell{}, 0)
		if made.First <= old.Floor {
			b.Errorf("tokens begin at %d; want more than %d", made.First, old.Floor)
		}
		b.refused(old, 0)
		old = made
	}
}

// expiryByClock checks that the server's clock proves the end of a lease only if the same
// server has written the row, and was not restarted since.
func expiryByClock(b *bench) {
	c := b.swap(caslease.Cell{}, 0)
	b.refused(c, time.Hour)
	b.server.Exec(b.c.Age)
	b.refused(c, time.Hour+2*realserver.Ready)
	if age := b.read(); age.Date.Sub(age.Updated) < time.Hour {
		b.Errorf("the cell is %+v", age)
	}
	for began := time.Now(); time.Since(began) < time.Second; { // MySQL only knows in which second it was started
		b.server.Kill()
		b.server.Start()
	}
	if c = b.read(); !c.Updated.IsZero() {
		b.Errorf("a restarted server returns the time %v; want none", c.Updated)
	}
	b.refused(c, time.Second)
	c = b.swap(c, 0)
	b.server.Exec(b.c.Age)
	b.swap(c, time.Hour)
}

// listPages checks that rows with invalid names are left out, and that a page full of them is
// not the last.
func listPages(b *bench) {
	l := b.store.(caslease.Lister) //nolint:forcetypeassert // a store in SQL is one
	if page, next, err := l.List(b.ctx, ""); len(page) != 0 || next != "" || err != nil {
		b.Errorf("without a table: %v, %q, %v", page, next, err)
	}
	b.swap(caslease.Cell{}, 0)
	b.server.Exec(b.c.Fill)
	pages, names := 0, ""
	for cursor, more := "", true; more; pages++ {
		page, next, err := l.List(b.ctx, cursor)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range page {
			names += fmt.Sprint(e.Name, " ")
		}
		cursor, more = next, next != ""
	}
	if pages != 4 || names != "jobs " {
		b.Errorf("%d pages have %q", pages, names)
	}
}
