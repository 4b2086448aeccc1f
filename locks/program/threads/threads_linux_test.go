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

// TestReserve: goroutines may be in system calls at once, and no thread is made for that.
func TestReserve(t *testing.T) {
	const n = 10
	before := count(t)
	reserve(n)
	if reserved := count(t); reserved < n {
		t.Fatalf("there are %d threads, before there were %d", reserved, before)
	}
	reserve(n)
	reserved := count(t)
	var all sync.WaitGroup
	for range n / 2 { // the test and the collector of garbage have some, too
		all.Go(func() { _ = syscall.Nanosleep(&syscall.Timespec{Nsec: 200_000_000}, nil) })
	}
	for begun := time.Now(); time.Since(begun) < 100*time.Millisecond; {
		if now := count(t); now > reserved {
			t.Fatalf("of %d threads are now %d", reserved, now)
		}
	}
	all.Wait()
}
