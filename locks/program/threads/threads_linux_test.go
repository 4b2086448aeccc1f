package threads

import (
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

func count(tb testing.TB) int {
	tb.Helper()
	all, err := os.ReadDir("/proc/self/task")
	if err != nil {
		tb.Fatal(err)
	}
	return len(all)
}

// TestReserve checks that goroutines can be in system calls at once without a new thread.
func TestReserve(t *testing.T) { trial.Steady(t, testReserve) }

func testReserve(tb testing.TB, _ int) {
	const n = 10
	before := count(tb)
	reserve(n)
	if reserved := count(tb); reserved < n {
		tb.Fatalf("there are %d threads after Reserve, and were %d before", reserved, before)
	}
	reserve(n)
	reserved := count(tb)
	var all sync.WaitGroup
	defer all.Wait()
	for range n / 2 { // the test and the garbage collector have threads as well
		all.Go(func() { _ = syscall.Nanosleep(&syscall.Timespec{Nsec: 200_000_000}, nil) })
	}
	for begun := time.Now(); time.Since(begun) < 100*time.Millisecond; {
		if now := count(tb); now > reserved {
			tb.Fatalf("%d threads have become %d", reserved, now)
		}
	}
}
