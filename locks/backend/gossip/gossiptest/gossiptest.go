// Package gossiptest starts voters for tests of others than the backend itself.
package gossiptest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gossip"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// Voters are members on this machine that contend for no lock of a test. They end with it.
type Voters struct {
	tb    testing.TB
	seats []string // "127.0.0.1:port"
	query string

	mu  sync.Mutex
	all []locks.Lock
}

// New chooses seats, and starts nobody. No lease is longer than longest.
func New(tb testing.TB, seats int, longest time.Duration) *Voters {
	tb.Helper()
	v := &Voters{tb: tb, query: fmt.Sprintf("?expect=%d&longest=%v", seats, longest)}
	for range seats {
		v.seats = append(v.seats, fmt.Sprintf("127.0.0.1:%d", realserver.FreePort(tb)))
	}
	tb.Cleanup(v.Stop)
	return v
}

// URL returns the address of the locks, for members of this machine. A member votes while a
// seat is free.
func (v *Voters) URL() string { return "gossip://" + strings.Join(v.seats, ",") + v.query }

// Start starts a voter in each seat. They vote after the longest lease.
func (v *Voters) Start() {
	v.tb.Helper()
	for i, seat := range v.seats {
		u, err := url.Parse(v.URL() + "&bind=" + seat)
		if err != nil {
			v.tb.Fatal(err)
		}
		l, err := gossip.Open(context.Background(), u, locks.Options{Name: fmt.Sprint("voter/", i), TTL: time.Second, ConnectTimeout: time.Second})
		if err != nil {
			v.tb.Fatal(err)
		}
		v.mu.Lock()
		v.all = append(v.all, l)
		v.mu.Unlock()
		go func() { _, _ = l.Acquire(context.Background(), true) }() // it votes, whether it gets that or not
	}
}

// Stop stops all of them.
func (v *Voters) Stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range v.all {
		_ = l.Close() // nothing can be done about an error
	}
	v.all = nil
}
