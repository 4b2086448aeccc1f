package guard_test

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// When leaderrun is killed, the guard kills the job, and only then the lock is free.
func TestLeaderrunKilled(t *testing.T) {
	t.Parallel()
	for name, text := range hardy {
		for _, user := range users() {
			t.Run(name+" as "+user, func(t *testing.T) {
				t.Parallel()
				if name == "big" && testing.Short() {
					t.Skip("needs 256 MiB of memory")
				}
				r := running(t, "", text, "-uid", user)
				if file, record := r.free(); file || record {
					trial.Final(t, "the lock is free while the job runs")
				}
				killed := time.Now()
				r.kill()
				r.becomesFree()
				t.Logf("after %v", time.Since(killed))
				r.nothingLeft()
			})
		}
	}
}

// When leaderrun is frozen, the guard kills the job at its deadline, and not before. leaderrun
// learns that when it continues.
func TestLeaderrunFrozen(t *testing.T) {
	t.Parallel()
	for _, job := range []string{"other sessions", "other thread", "flapping"} {
		user := users()[len(job)%len(users())]
		t.Run(job+" as "+user, func(t *testing.T) {
			t.Parallel()
			trial.Steady(t, func(tb testing.TB, scale int) {
				r := running(tb, "", hardy[job], "-uid", user, "-deadline", within(6*time.Second))
				deadline := r.instant("deadline")
				r.signal(r.leaderrun, syscall.SIGSTOP)
				until(tb, "the job is dead", func() bool { return len(r.left()) == 0 })
				late := clock.Boot{}.Now().Sub(deadline)
				if late < 0 {
					tb.Errorf("the job was killed %v before its deadline", -late)
				}
				tb.Logf("seen dead %v after the deadline", late)
				if late > time.Duration(scale)*2*time.Second { // a busy machine delays it by less
					tb.Error("the job was killed too late")
				}
				r.signal(r.leaderrun, syscall.SIGCONT)
				if r.said("gone, overdue") != "true" || r.number("exited") != 137 || r.read("released") != "" {
					tb.Errorf("when it continues, leaderrun logs %q", r.read("log"))
				}
				r.nothingLeft() // a guard with many frames has waited until leaderrun has read the last
			})
		})
	}
}

// The guard does not kill at a deadline that was moved in time.
func TestExtend(t *testing.T) {
	t.Parallel()
	r := running(t, "", hardy["deaf"], "-deadline", within(6*time.Second))
	r.tell("extend 1h")
	r.said("did extend")
	deadline := r.instant("deadline")
	until(t, "the deadline has passed", func() bool { return clock.Boot{}.Now() > deadline.Add(300*time.Millisecond) })
	if !r.job.alive() {
		t.Error("the job was killed at a deadline that had been moved")
	}
	r.kill()
	r.becomesFree()
	r.nothingLeft()
}

// When leaderrun is frozen in the grace of a stop, the guard kills the job when that is over, and
// not before, although the lock has no lease, or a renewal was answered meanwhile.
func TestFrozenInTheGrace(t *testing.T) {
	t.Parallel()
	for name, orders := range map[string][]string{"no lease": {"limit 3s"}, "renewed": {"limit 3s", "extend 2h"}, "twice": {"limit 3s", "limit 1h"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial.Steady(t, func(tb testing.TB, scale int) {
				r := running(tb, "", hardy["deaf"])
				for _, order := range orders {
					r.tell(order)
					r.said("did " + order)
				}
				time.Sleep(time.Duration(scale) * 100 * time.Millisecond) // the guard has read them
				r.signal(r.leaderrun, syscall.SIGSTOP)
				until(tb, "the job is dead", func() bool { return len(r.left()) == 0 })
				switch late := (clock.Boot{}).Now().Sub(r.instant("limit")); {
				case late < 0:
					tb.Errorf("the job was killed %v before the end of the grace", -late)
				case late > time.Duration(scale)*2*time.Second:
					tb.Errorf("the job was killed %v after the end of the grace", late)
				}
				r.signal(r.leaderrun, syscall.SIGCONT)
				r.said("gone")
				r.nothingLeft()
			})
		})
	}
}

// When the guard is killed, leaderrun kills only the job. leaderrun still holds the lock, and
// the guard does not release it.
func TestGuardKilled(t *testing.T) {
	t.Parallel()
	for name, text := range hardy {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := users()[len(name)%len(users())]
			r := running(t, `sleep 1000 & echo $! >$D/before; sleep 0.1;`, text, "-helper", "-uid", user)
			before, err := strconv.Atoi(strings.TrimSpace(r.read("before")))
			if err != nil {
				t.Fatal(err)
			}
			r.extras = []process{processOf(before), processOf(r.number("helper")), processOf(r.number("adopted"))}
			killed := time.Now()
			r.signal(r.guard.pid, syscall.SIGKILL)
			r.said("gone")
			t.Logf("after %v", time.Since(killed))
			r.nothingLeft()
			if got, want := r.said("failed"), "the guard process has died"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if record := r.read("released"); record != "" {
				t.Errorf("the dead guard has written %q", record)
			}
			for _, p := range r.extras {
				if !p.alive() {
					t.Errorf("%d, which is not part of the job, is dead", p.pid)
				}
			}
		})
	}
}

// In the tier pgroup, when the guard is killed, the processes that have not left the group are
// killed. The others live on.
func TestGuardOfGroupKilled(t *testing.T) {
	t.Parallel()
	for _, user := range users() {
		t.Run("as "+user, func(t *testing.T) {
			t.Parallel()
			r := running(t, "", `sleep 1000 & setsid sleep 1000 & echo $! >$D/left; (sleep 1000 &); exec $DEAF`, "-tier", "pgroup", "-uid", user)
			left, err := strconv.Atoi(strings.TrimSpace(r.read("left")))
			if err != nil {
				t.Fatal(err)
			}
			until(t, "it has left the group", func() bool { group, err := syscall.Getpgid(left); return err == nil && group == left })
			r.extras = []process{processOf(left)}
			r.signal(r.guard.pid, syscall.SIGKILL)
			r.said("gone")
			r.nothingLeft()
			if !r.extras[0].alive() {
				t.Error("a process that has left the group was killed")
			}
		})
	}
}

// Processes that /proc hides are killed like all others, by the guard and without it.
func TestHidden(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a /proc that hides processes")
	}
	for _, victim := range []string{"leaderrun", "guard"} {
		for name, text := range map[string]string{
			"child":  `GUARD_TEST_ROLE=hidden setsid $SELF & while :; do sleep 1; done`,
			"orphan": `(GUARD_TEST_ROLE=hidden setsid $SELF &); while :; do sleep 1; done`,
		} {
			t.Run(name+", "+victim+" is killed", func(t *testing.T) {
				t.Parallel()
				r := prepare(t, "mount -t proc -o hidepid=2 proc /proc;", text, "-uid", "65534")
				r.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
				r.start()
				r.isRunning()
				if victim == "leaderrun" {
					r.kill()
					r.becomesFree()
				} else {
					r.signal(r.guard.pid, syscall.SIGKILL)
					r.said("gone")
				}
				r.nothingLeft()
			})
		}
	}
}

// If the guard is frozen when leaderrun needs it, leaderrun kills the guard and the job.
func TestGuardFrozen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tell    string
		options []string
	}{
		"when it is to kill":         {"kill", nil},
		"when the deadline is moved": {"extend 1h", []string{"-deadline", within(6 * time.Second)}},
		"and reads nothing":          {"flood\nkill", nil},
		"and is to read much":        {"check-long true\nkill", nil},
		"and nobody needs it":        {"nothing", []string{"-asks", "1s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := running(t, "", hardy["other sessions"], test.options...)
			r.signal(r.guard.pid, syscall.SIGSTOP)
			r.tell(test.tell)
			if got, want := r.said("failed"), "the guard process does not answer"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			now, deadline := clock.Boot{}.Now(), r.instant("deadline")
			if deadline != clock.Never && now < deadline {
				t.Error("the guard counted as failed before the deadline")
			}
			r.said("gone")
			r.nothingLeft()
		})
	}
}

// In each tier, no process of a job outlives the lock, however many processes there are.
func TestManyDaemons(t *testing.T) {
	t.Parallel()
	for _, user := range users() {
		for _, victim := range []string{"leaderrun", "guard"} {
			t.Run(victim+" of "+user, func(t *testing.T) { // not in parallel: there are many processes
				r := running(t, "", `GUARD_TEST_ROLE=daemons exec $SELF`, "-uid", user)
				if victim == "guard" {
					r.signal(r.guard.pid, syscall.SIGKILL)
					r.said("gone")
				} else {
					r.kill()
					r.becomesFree()
				}
				r.nothingLeft()
			})
		}
	}
}

// When leaderrun and the guard are killed, the kernel kills at least the job's first process.
// leaderrun is frozen first, or it would kill the process. (Freezing the guard is no use:
// when leaderrun is dead, the kernel continues the guard, because its group is orphaned.)
func TestBothKilled(t *testing.T) {
	t.Parallel()
	for _, user := range users() {
		r := running(t, "", hardy["deaf"], "-uid", user)
		r.signal(r.leaderrun, syscall.SIGSTOP)
		r.signal(r.guard.pid, syscall.SIGKILL)
		until(t, "the first process is dead", func() bool { return !r.job.alive() })
		r.kill()
	}
}

// The job has only the descriptors that leaderrun was started with, and none of leaderrun's,
// of the guard's or of the lock's.
func TestOnlyOurDescriptors(t *testing.T) {
	t.Parallel()
	r := prepare(t, "", `exec >$D/fds; for f in /proc/$$/fd/*; do readlink $f >/dev/null && echo ${f##*/}; done; exec $DEAF`)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r.cmd.ExtraFiles = make([]*os.File, 253)
	for _, n := range []int{3, 7, 255} {
		r.cmd.ExtraFiles[n-3] = null
	}
	r.start()
	r.isRunning()
	got := strings.Fields(r.read("fds"))
	slices.SortFunc(got, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	if got, want := strings.Join(got, " "), "0 1 2 3 7 255"; got != want {
		t.Errorf("the job has the descriptors %s, want %s", got, want)
	}
	r.kill()
	r.becomesFree()
}
