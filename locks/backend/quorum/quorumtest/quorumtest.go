// Package quorumtest runs standing voters on this machine, for tests. This is a package of its
// own because faults and testscripts start them, too.
package quorumtest

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/quorum/voter"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// Voters are those of one group, on loopback addresses. They end with the test.
type Voters struct {
	tb      testing.TB
	Names   []string // "127.0.0.1:port", sorted
	longest time.Duration
	dir     string // on a tmpfs
	state   string
	running []func() // ends the voter in a seat; nil: there is none
}

// New chooses seats, and starts nobody. No lease is longer than longest.
func New(tb testing.TB, seats int, longest time.Duration) *Voters {
	tb.Helper()
	v := &Voters{tb: tb, longest: longest, dir: Volatile(tb), state: tb.TempDir(), running: make([]func(), seats)}
	for range seats {
		v.Names = append(v.Names, fmt.Sprintf("127.0.0.1:%d", realserver.FreePort(tb)))
	}
	slices.Sort(v.Names)
	tb.Cleanup(func() {
		for i := range v.running {
			v.Stop(i)
		}
	})
	return v
}

// Volatile makes a directory that is gone after a reboot.
func Volatile(tb testing.TB) string {
	tb.Helper()
	const shm = "/dev/shm"
	if _, err := os.Stat(shm); err != nil {
		return tb.TempDir()
	}
	dir, err := os.MkdirTemp(shm, "leaderrun-test-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Start starts the voters in some seats, or in all, and waits until they listen. The first time,
// they abstain for the longest lease. Then they continue their promises.
func (v *Voters) Start(seats ...int) {
	v.tb.Helper()
	if len(seats) == 0 {
		for i := range v.Names {
			seats = append(seats, i)
		}
	}
	for _, i := range seats {
		one, err := voter.New(v.Config(i))
		if err != nil {
			v.tb.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ready, ended := make(chan error, 1), make(chan struct{})
		go func() {
			defer close(ended)
			ready <- one.Run(ctx, func([]netip.AddrPort) { ready <- nil })
		}()
		if err := <-ready; err != nil {
			v.tb.Fatal(err)
		}
		go func() { <-ready }() // the end
		v.running[i] = func() {
			cancel()
			<-ended
			one.Close()
		}
	}
}

// Config is that of the voter in a seat.
func (v *Voters) Config(seat int) voter.Config {
	return voter.Config{
		Group: v.Group(), Names: v.Names, Seat: seat, Log: slog.New(slog.DiscardHandler), Version: "test",
		Runtime: filepath.Join(v.dir, fmt.Sprint(seat)), State: filepath.Join(v.state, fmt.Sprint(seat)),
	}
}

// Group is the voters'.
func (v *Voters) Group() votes.Group { return voter.Group(v.Names, v.longest) }

// Stop ends the voter in a seat, if there is one.
func (v *Voters) Stop(seat int) {
	if end := v.running[seat]; end != nil {
		v.running[seat] = nil
		end()
	}
}

// Forget deletes what the voter in a seat, which must not run, has promised.
func (v *Voters) Forget(seat int) {
	v.tb.Helper()
	if err := os.RemoveAll(v.Config(seat).Runtime); err != nil {
		v.tb.Fatal(err)
	}
}

// Open waits until all vote. They must have been started.
func (v *Voters) Open() { time.Sleep(v.longest + 100*time.Millisecond) }

// URL returns the address of the locks in a space.
func (v *Voters) URL(space string) string {
	return fmt.Sprintf("quorum://%s/%s?longest=%v", strings.Join(v.Names, ","), space, v.longest)
}
