package threads

import (
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

func count(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestReserve checks that goroutines can be in system calls at once without a new thread.
func TestReserve(t *testing.T) {
	const n = 10
	before := count(t)
	reserve(n)
	if reserved := count(t); reserved < n {
		t.Fatalf("there are %d threads after Reserve, and were %d before", reserved, before)
	}
	reserve(n)
	reserved := count(t)
	var all sync.WaitGroup
	for range n / 2 { // the test and the garbage collector have threads as well
		all.Go(func() { _ = syscall.Nanosleep(&syscall.Timespec{Nsec: 200_000_000}, nil) })
	}
	for begun := time.Now(); time.Since(begun) < 100*time.Millisecond; {
		if now := count(t); now > reserved {
			t.Fatalf("%d threads have become %d", reserved, now)
		}
	}
	all.Wait()
}
