package guard_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/guard"
)

// exhaust sets a process's limit of descriptors to the lowest free number, so that it cannot
// open another file.
func exhaust(t *testing.T, pid int) {
	t.Helper()
	dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
	limit := 0
	for {
		if _, err := os.Lstat(dir + strconv.Itoa(limit)); err != nil {
			break
		}
		limit++
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(limit), Max: uint64(limit)}, nil); err != nil {
		t.Fatal(err)
	}
}

// escaping are jobs with processes that have left the group.
var escaping = []string{"other sessions", "first ended", "daemon"}

// A guard that has no descriptor left kills all of the job at its deadline.
func TestGuardWithoutDescriptors(t *testing.T) {
	t.Parallel()
	for _, tier := range []string{"", string(guard.Subreaper)} {
		for _, job := range escaping {
			t.Run(job+" in "+tier, func(t *testing.T) {
				t.Parallel()
				r := running(t, "", hardy[job], "-tier", tier, "-deadline", within(6*time.Second))
				exhaust(t, r.leaderrun)
				exhaust(t, r.guard.pid)
				r.signal(r.leaderrun, syscall.SIGSTOP)
				until(t, "the job is dead", func() bool { return len(r.left()) == 0 })
				if early := r.instant("deadline").Sub(clock.Boot{}.Now()); early > 0 {
					t.Errorf("the job was killed %v before its deadline", early)
				}
				r.nothingLeft()
				r.signal(r.leaderrun, syscall.SIGCONT)
				r.said("gone")
			})
		}
	}
}

// A leaderrun that has no descriptor left kills all of the job when the guard has died.
func TestLeaderrunWithoutDescriptors(t *testing.T) {
	t.Parallel()
	for _, tier := range []string{"", string(guard.Subreaper)} {
		for _, job := range escaping {
			t.Run(job+" in "+tier, func(t *testing.T) {
				t.Parallel()
				r := running(t, "", hardy[job], "-tier", tier)
				exhaust(t, r.leaderrun)
				r.signal(r.guard.pid, syscall.SIGKILL)
				r.said("gone")
				r.nothingLeft()
			})
		}
	}
}
