package lockstest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// leaks counts what this process and the server have open, does many times what a
// contender does, and counts again.
func leaks(e *env) {
	cycle(e) // something that is opened once and kept is not a leak
	const cycles = 4
	before := e.resources()
	for range cycles {
		cycle(e)
	}
	for _, r := range before {
		got := 0
		if !within(settle, func() bool { got = r.count(); return got <= r.n }) {
			e.Errorf("%s: %d before, %d after %d cycles", r.name, r.n, got, cycles)
		}
	}
}

// A resource is something that can leak.
type resource struct {
	name  string
	n     int
	count func() int
}

func (e *env) resources() []resource {
	rs := []resource{{name: "goroutines", count: func() int { return len(e.goroutines()) }}}
	if runtime.GOOS == "linux" {
		rs = append(rs, resource{name: "open files", count: openFiles}, resource{name: "children", count: func() int { return len(children()) }})
	}
	if e.c.Connections != nil {
		rs = append(rs, resource{name: "connections", count: func() (n int) {
			e.unwatched(func() { n = e.c.Connections(e.TB, e.u) })
			return n
		}})
	}
	for i := range rs {
		rs[i].n = settled(rs[i].count)
	}
	return rs
}

// settled counts once everything that is ending has ended.
func settled(count func() int) int {
	n := count()
	for range 5 {
		pause(50 * time.Millisecond)
		n = min(n, count())
	}
	return n
}

func openFiles() int {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(fds)
}

// children returns the child processes, including dead ones.
func children() (pids []int) {
	all, _ := os.ReadDir("/proc")
	for _, p := range all {
		stat, err := os.ReadFile("/proc/" + p.Name() + "/stat")
		if err != nil {
			continue
		}
		// The second field is in brackets, and may contain any character.
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
		var state string
		var ppid int
		if _, err := fmt.Sscan(rest, &state, &ppid); err == nil && ppid == os.Getpid() {
			pid, _ := strconv.Atoi(p.Name())
			pids = append(pids, pid)
		}
	}
	return pids
}

// cycle uses a holder, one that is refused, a waiter that is cancelled, one that gets the
// lock, and one that does not even begin.
func cycle(e *env) {
	all := make([]*contender, 5)
	for i := range all {
		k, err := e.tryOpen(e.u, e.options(fmt.Sprint("contender ", i)))
		if err != nil {
			e.Fatalf("open: %v", err)
		}
		all[i] = k
		defer k.Close()
	}
	all[0].hold()
	all[1].refused()
	cancelled := all[2].campaign()
	cancelled.queued()
	cancelled.cancel()
	<-cancelled.done
	waits := all[3].campaign()
	waits.queued()
	_ = all[0].renew()
	all[0].release()
	waits.won(e.prompt + e.c.Polling)
	ctx, cancel := context.WithTimeout(context.Background(), e.prompt)
	defer cancel()
	if err := all[3].Release(ctx); err != nil {
		e.Errorf("release: %v", err)
	}
}
