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

// When leaderrun is killed, its guard kills the job, and only then is the lock
// free.
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
					t.Fatal("the lock is free while the job runs")
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

// When leaderrun is frozen, its guard kills the job at its deadline, and not
// before. leaderrun is told when it goes on.
func TestLeaderrunFrozen(t *testing.T) {
	t.Parallel()
	for _, job := range []string{"other sessions", "other thread", "flapping"} {
		user := users()[len(job)%len(users())]
		t.Run(job+" as "+user, func(t *testing.T) {
			t.Parallel()
			r := running(t, "", hardy[job], "-uid", user, "-deadline", within(6*time.Second))
			deadline := clock.Instant(r.number("deadline"))
			r.signal(r.leaderrun, syscall.SIGSTOP)
			until(t, "the job is dead", func() bool { return len(r.left()) == 0 })
			late := clock.Boot{}.Now().Sub(deadline)
			if late < 0 {
				t.Errorf("it was killed %v before its deadline", -late)
			}
			t.Logf("seen dead %v after the deadline", late)
			if late > trial.Stretch(2*time.Second) { // a busy machine has it late by less
				t.Error("that is too late")
			}
			r.signal(r.leaderrun, syscall.SIGCONT)
			if r.said("gone"); r.number("exited") != 137 || r.read("released") != "" {
				t.Errorf("leaderrun goes on, and sees %q", r.read("log"))
			}
			r.nothingLeft() // a guard that had much to say has waited for leaderrun to hear the end
		})
	}
}

// A deadline that is moved in time is none any more.
func TestExtend(t *testing.T) {
	t.Parallel()
	r := running(t, "", hardy["deaf"], "-deadline", within(6*time.Second))
	r.tell("extend 1h")
	r.said("did extend")
	deadline := clock.Instant(r.number("deadline"))
	until(t, "the deadline has passed", func() bool { return clock.Boot{}.Now() > deadline.Add(300*time.Millisecond) })
	if !r.job.alive() {
		t.Error("the job was killed at a deadline that had been moved")
	}
	r.kill()
	r.becomesFree()
	r.nothingLeft()
}

// When its guard is killed, leaderrun kills the job, and nothing else. It is
// leaderrun that has the lock then, and the guard has no say in it.
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
			r.extras = []process{processOf(before), processOf(r.number("helper"))}
			killed := time.Now()
			r.signal(r.guard.pid, syscall.SIGKILL)
			r.said("gone")
			t.Logf("after %v", time.Since(killed))
			r.nothingLeft()
			if got, want := r.said("failed"), "the guard process has died"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if record := r.read("released"); record != "" {
				t.Errorf("the dead guard has said %q", record)
			}
			for _, p := range r.extras {
				if !p.alive() {
					t.Errorf("%d, which is no part of the job, is dead", p.pid)
				}
			}
		})
	}
}

// In the tier pgroup, too, what has not left the group is killed when the guard is. The
// rest lives on.
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
				t.Error("what has left the group was killed")
			}
		})
	}
}

// What /proc hides is killed as all else is, by the guard and without it.
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

// A guard that is frozen when leaderrun needs it is killed by leaderrun, and the
// job with it.
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
			now, deadline := clock.Boot{}.Now(), clock.Instant(r.number("deadline"))
			if deadline != clock.Never && now < deadline {
				t.Error("it was given up before the deadline")
			}
			r.said("gone")
			r.nothingLeft()
		})
	}
}

// However many processes there are, and whatever keeps them together, none outlives the
// lock.
func TestManyDaemons(t *testing.T) {
	t.Parallel()
	for _, user := range users() {
		for _, victim := range []string{"leaderrun", "guard"} {
			t.Run(victim+" of "+user, func(t *testing.T) { // not at once: there are enough of them
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

// When leaderrun and its guard are killed, the kernel kills the job's first
// process at least. leaderrun is frozen first, or it would do that. (To freeze
// the guard is no use: when leaderrun is dead, the kernel continues it, as its
// group is then an orphan.)
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

// The job has the descriptors that leaderrun was started with and no other: none
// of leaderrun's, of its guard's or of the lock's.
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
