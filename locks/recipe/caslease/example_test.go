package caslease_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// A shelf is a store in memory. It counts the changes of all its cells.
type shelf struct {
	mu      sync.Mutex
	cells   map[caslease.Key]caslease.Cell
	changes uint64
}

var errChanged = errors.New("the cell has changed")

func (s *shelf) Read(ctx context.Context, k caslease.Key) (caslease.Cell, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cells[k], ctx.Err()
}

func (s *shelf) Swap(ctx context.Context, k caslease.Key, at caslease.Cell, to caslease.Value) (caslease.Cell, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cells[k]
	if err := ctx.Err(); err != nil {
		return caslease.Cell{}, err
	}
	if c.Version != at.Version {
		return caslease.Cell{}, errChanged
	}
	s.changes++
	c.Version, c.First, c.Floor = fmt.Sprint(s.changes), cmp.Or(c.First, s.changes), s.changes
	c.State = cmp.Or(to.State, c.State)
	if to.Record != nil {
		c.Record = to.Record
	}
	s.cells[k] = c
	return c, nil
}

func (s *shelf) Delete(ctx context.Context, k caslease.Key, at caslease.Cell) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.cells[k].Version != at.Version {
		return errChanged
	}
	delete(s.cells, k)
	return nil
}

func (s *shelf) Fault(err error) causes.Fault {
	if errors.Is(err, errChanged) {
		return causes.Fault{Kind: causes.Changed}
	}
	return causes.Fault{} // Unknown
}

func (s *shelf) Close() error { return nil }

// A backend is a Store. Package caslease does the rest.
func Example() {
	ctx := context.Background()
	store := &shelf{cells: map[caslease.Key]caslease.Cell{}}
	open := func(holder string) *caslease.Lock {
		o := locks.Options{Name: "jobs/nightly", Holder: holder, TTL: 15 * time.Second, ConnectTimeout: 5 * time.Second}
		return caslease.New(store, caslease.Traits{}, o)
	}

	web1 := open("web-1")
	first, err := web1.Acquire(ctx, true)
	if err != nil {
		log.Fatal(err)
	}
	web2 := open("web-2")
	_, err = web2.Acquire(ctx, true)
	fmt.Println(err)

	if err := errors.Join(web1.Renew(ctx), web1.SetRecord(ctx, []byte("done up to page 7")), web1.Release(ctx)); err != nil {
		log.Fatal(err)
	}
	second, err := web2.Acquire(ctx, true)
	if err != nil {
		log.Fatal(err)
	}
	text, err := web2.Record(ctx)
	fmt.Printf("%s; %v; clean: %t, the token is greater: %t\n", text, err, second.Clean, second.Token > first.Token)
	// Output:
	// held by web-1
	// done up to page 7; <nil>; clean: true, the token is greater: true
}
