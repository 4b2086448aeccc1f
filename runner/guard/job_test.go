package guard_test

import (
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// idle is a shell command that does nothing for a long time. It ends at once when its group is
// signalled.
const idle = `while :; do sleep 1; done`

func TestExit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text   string
		want   proc.Exit
		status int
	}{
		{"exit 0", proc.Exit{}, 0},
		{"exit 1", proc.Exit{Code: 1}, 1},
		{"exit 255", proc.Exit{Code: 255}, 255},
		{"kill -TERM $$", proc.Exit{Signal: syscall.SIGTERM}, 143},
		{"kill -KILL $$", proc.Exit{Signal: syscall.SIGKILL}, 137},
		{"ulimit -c 0; kill -SEGV $$", proc.Exit{Signal: syscall.SIGSEGV}, 139},
	}
	for _, test := range tests {
		j := start(t, test.text)
		if got := j.exits(); got != test.want || got.Status() != test.status {
			t.Errorf("%s: got %v, status %d; want %v, status %d", test.text, got, got.Status(), test.want, test.status)
		}
		if !proc.IsClosed(j.Gone()) {
			t.Errorf("%s: the job is not gone", test.text)
		}
	}
}

// A signal reaches each process of the job.
func TestSignalReachesAll(t *testing.T) {
	t.Parallel()
	j := start(t, `
		worker() { trap 'echo $1 >$D/$1; exit' USR1; echo ready >$D/ready$1; while :; do sleep 0.01; done; }
		worker 1 & (worker 2 & worker 3 & wait) & worker 4`)
	for _, n := range []string{"1", "2", "3", "4"} {
		j.wrote("ready" + n)
	}
	j.signal(syscall.SIGUSR1)
	for _, n := range []string{"1", "2", "3", "4"} {
		j.wrote(n)
	}
}

// The job has its own process group, with the first process's id.
func TestOwnGroup(t *testing.T) {
	t.Parallel()
	j := start(t, idle)
	if got, err := syscall.Getpgid(j.PID()); got != j.PID() || err != nil {
		t.Errorf("got the group %d, %v; want %d", got, err, j.PID())
	}
	if j.PID() == syscall.Getpgrp() {
		t.Error("the job is in our own group")
	}
}

// A job is gone when its last process has ended, not its first.
func TestGone(t *testing.T) {
	t.Parallel()
	j := start(t, `(trap 'exit' TERM; echo ready >$D/ready; while :; do sleep 0.01; done) & exit 3`)
	if got, want := j.exits(), (proc.Exit{Code: 3}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	j.wrote("ready")
	if proc.IsClosed(j.Gone()) {
		t.Fatal("the job is gone, but its second process is not")
	}
	j.signal(syscall.SIGTERM)
	until(t, "the job is gone", j.isGone)
	if !proc.IsClosed(j.Gone()) {
		t.Error("the job is no longer gone")
	}
}

func TestNotGoneBeforeTheExit(t *testing.T) {
	t.Parallel()
	j := start(t, idle)
	if proc.IsClosed(j.Gone()) {
		t.Error("the job is gone before its first process has ended")
	}
	select {
	case <-j.Exited():
		t.Error("Exited is closed, but the first process exists")
	default:
	}
}

// A job that ignores all signals it can does not survive. Neither does a suspended one.
func TestKill(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"deaf":      `trap '' TERM INT HUP QUIT; (echo ready >$D/ready; ` + idle + `) & ` + idle,
		"stopped":   `(echo ready >$D/ready; kill -STOP 0) & ` + idle,
		"leftovers": `(echo ready >$D/ready; ` + idle + `) & sleep 0.01`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := start(t, text)
			j.wrote("ready")
			if err := j.Kill(); err != nil {
				t.Error(err)
			}
			j.exits()
			until(t, "the job is gone", j.isGone)
			if j.Overdue() {
				t.Error("it counts as killed at its deadline")
			}
		})
	}
}

// A suspended job acts on a signal when it is continued.
func TestStoppedJob(t *testing.T) {
	t.Parallel()
	j := start(t, `trap 'exit 4' TERM; echo ready >$D/ready; kill -STOP $$; `+idle)
	j.wrote("ready")
	j.signal(syscall.SIGTERM)
	j.signal(syscall.SIGCONT)
	if got := j.exits(); got.Code != 4 {
		t.Errorf("got %v, want the code 4", got)
	}
}

// SIGKILL reaches all processes of a group at once. So a job that forks as fast as it can does
// not escape while its processes stay in the group.
func TestKillOfForks(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"relay": `relay() { echo ready >$D/ready; relay & }; relay; ` + idle,
		"storm": `storm() { for i in 1 2 3; do (:) & done; wait; }; storm; echo ready >$D/ready; while :; do storm; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				j := start(t, text)
				j.wrote("ready")
				killed := time.Now()
				if err := j.Kill(); err != nil {
					t.Error(err)
				}
				j.exits()
				until(t, "the job is gone", j.isGone)
				if took := time.Since(killed); took > 5*time.Second {
					t.Errorf("it took %v", took)
				}
			}
		})
	}
}

// Signals to a job that is gone do nothing.
func TestSignalAfterTheEnd(t *testing.T) {
	t.Parallel()
	j := start(t, "exit 0")
	j.exits()
	for range 2 {
		j.signal(syscall.SIGTERM)
		if err := j.Kill(); err != nil {
			t.Error(err)
		}
		if !proc.IsClosed(j.Gone()) {
			t.Error("the job is not gone")
		}
	}
}

// All methods may be called concurrently, at any time.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		j := start(t, `(sleep 0.0`+strconv.Itoa(n%10)+`) & sleep 0.0`+strconv.Itoa(n/2))
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for !proc.IsClosed(j.Gone()) {
					j.signal(syscall.SIGCONT)
					time.Sleep(time.Millisecond)
				}
				<-j.Exited()
				if got := j.Exit(); got != (proc.Exit{}) {
					t.Errorf("got %v, want 0", got)
				}
			})
		}
		all.Wait()
	}
}

// The exit of a job is the exit of its first process.
func TestExitOfTheFirst(t *testing.T) {
	t.Parallel()
	j := start(t, `(exit 9) & (sleep 0.02; exit 8) & exit 3`)
	if got, want := j.exits(), (proc.Exit{Code: 3}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	until(t, "the job is gone", j.isGone)
}

// The end of a first process that has left its group is noticed.
func TestFirstLeavesTheGroup(t *testing.T) {
	t.Parallel()
	j := play(t, "leave", []string{"leave"}, nil)
	select {
	case <-j.Exited():
	case <-time.After(10 * time.Second):
		t.Fatal("its end was not noticed")
	}
	if got := j.Exit(); got.Code != 7 {
		t.Errorf("got %v, want 7", got)
	}
	until(t, "the job is gone", func() bool { return proc.IsClosed(j.Gone()) })
}
