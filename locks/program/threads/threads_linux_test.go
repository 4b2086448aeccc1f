package threads

import (
	"bytes"
	"os"
	"path/filepath"
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

// idle waits until no other thread of this process runs. Until then the reserved ones are
// not yet among those that Go uses again.
func idle(tb testing.TB) {
	tb.Helper()
	for running, start := 2, time.Now(); running > 1; {
		if time.Since(start) > 30*time.Second {
			tb.Fatal("the other threads do not become idle")
		}
		time.Sleep(5 * time.Millisecond)
		files, err := filepath.Glob("/proc/self/task/*/stat")
		if err != nil {
			tb.Fatal(err)
		}
		running = 0
		for _, file := range files {
			if text, _ := os.ReadFile(file); bytes.Contains(text, []byte(") R ")) {
				running++
			}
		}
	}
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
	idle(tb)
	reserved := count(tb)
	var all sync.WaitGroup
	for range n / 2 { // the test and the garbage collector have threads as well
		all.Go(func() { _ = syscall.Nanosleep(&syscall.Timespec{Nsec: 200_000_000}, nil) })
	}
	all.Wait()
	if now := count(tb); now > reserved { // Go keeps every thread that it has started
		tb.Fatalf("%d threads have become %d", reserved, now)
	}
}
