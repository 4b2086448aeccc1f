package guard_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// uids are users that run nothing else, because the limit of tasks counts per user.
var uids atomic.Int64

// leaderrun and the guard need no more threads when the job runs. At the limit of tasks, which
// a job may reach, Go would abort.
func TestTaskLimit(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can be a user whom nobody else is")
	}
	for _, victim := range []string{"leaderrun", "guard", "job"} {
		for n := range 4 {
			t.Run(fmt.Sprintf("%s, %d", victim, n), func(t *testing.T) {
				t.Parallel()
				uid := 1<<20 + os.Getpid()<<8 + int(uids.Add(1))
				limit := fmt.Sprintf("ulimit -u %[1]d 2>/dev/null || ulimit -p %[1]d;", 34+7*n)
				r := running(t, limit, `GUARD_TEST_ROLE=greedy exec $SELF`, "-uid", strconv.Itoa(uid), "-deadline", "1h")
				for i := range 20 {
					r.tell(fmt.Sprintf("extend %dh", i+2))
				}
				r.tell("check true")
				r.said("check refused")
				r.tell("stop")
				r.said("did stop")
				switch victim {
				case "leaderrun":
					r.kill()
					r.becomesFree()
				case "guard":
					r.signal(r.guard.pid, syscall.SIGKILL)
					r.said("gone")
				case "job":
					r.tell("kill")
					r.said("gone")
				}
				r.nothingLeft()
				if text := r.read("stderr"); strings.Contains(text, "runtime") {
					t.Errorf("got a crash:\n%s", text)
				}
			})
		}
	}
}

// They have all of their threads before the job starts, whatever they do later. A crash at the
// limit is rare, but each thread that is made later can cause one.
func TestNoMoreThreads(t *testing.T) {
	t.Parallel()
	for n := range 6 {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			r := running(t, "", hardy["other sessions"], "-deadline", "1h")
			before := map[string]int{"guard": threadsOf(t, r.guard.pid), "leaderrun": threadsOf(t, r.leaderrun)}
			for i := range 20 {
				r.tell(fmt.Sprintf("extend %dh", i+2))
			}
			r.tell("check true")
			r.said("check ended")
			r.tell("stop")
			r.said("did stop")
			for who, now := range map[string]int{"guard": threadsOf(t, r.guard.pid), "leaderrun": threadsOf(t, r.leaderrun)} {
				if now > before[who] {
					t.Errorf("the threads of %s: %d before, now %d", who, before[who], now)
				}
			}
			r.tell("kill")
			r.said("gone")
			r.nothingLeft()
		})
	}
}

func threadsOf(t *testing.T, pid int) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
