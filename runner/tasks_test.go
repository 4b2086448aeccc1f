package runner

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// Starts that fail because the machine is out of tasks.
var full = map[string]error{
	"command": &proc.StartError{Command: "job", Err: threads.Refused(syscall.EAGAIN)},
	"guard":   fmt.Errorf("%w: %w", threads.ErrOut, proc.ErrGuardDied),
}

// full makes each start fail with err until there is room.
func (r *rig) full(err error, room time.Duration) {
	r.job.begin = runs(time.Second, 3)
	r.starts = func(j *job, _ proc.Command) {
		if j.refuse = nil; r.now() < room {
			j.refuse = err
		}
	}
}

// A start is repeated, under the same lease.
func TestRoomSoon(t *testing.T) {
	for name, err := range full {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.full(err, seconds(4))
				exit, err := r.run()
				r.ended(exit, err, proc.Exit{Code: 3})
				r.within(r.when("start"), seconds(4), seconds(5))
				if n := len(r.times("release")); n != 1 {
					t.Errorf("the lock was released %d times", n)
				}
				r.quiet()
			})
		})
	}
}

// The lock is not held for longer than a third of the ttl while nothing can be started. Others
// may have room; then we campaign again.
func TestRoomLater(t *testing.T) {
	for name, err := range full {
		for _, hook := range []string{"", "elected"} {
			t.Run(name+hook, func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					if hook != "" {
						r.c.Hooks.Elected = proc.Command{Path: "/bin/elected", Args: []string{"elected"}}
					}
					r.full(err, seconds(20))
					r.job.begin = runs(time.Second, 0)
					exit, err := r.run()
					r.ended(exit, err, proc.Exit{})
					acquired, released := r.times("acquire"), r.times("release")
					if len(acquired) != 3 || len(released) != 3 {
						t.Fatalf("acquired at %v, released at %v; want three terms", acquired, released)
					}
					for i := range 2 {
						r.within(released[i]-acquired[i], ttl/3, ttl/3)
						r.within(acquired[i+1]-released[i], minPause, minPause)
					}
				})
			})
		}
	}
}

// In the end, nothing was started.
func TestNoRoom(t *testing.T) {
	for name, tt := range map[string]struct {
		set  func(*rig)
		want time.Duration
	}{
		"wait":                {func(r *rig) { r.wait(seconds(20)) }, seconds(20)},
		"no time for a pause": {func(r *rig) { r.wait(ttl/3 + minPause) }, ttl / 3},
		"short wait":          {func(r *rig) { r.wait(seconds(2)) }, seconds(2)},
		"no wait":             {func(r *rig) { r.wait(0) }, 0},
		"nonblock":            {func(r *rig) { r.c.Try = true }, ttl / 3},
		"short attempt":       {func(r *rig) { r.c.Try, r.c.ConnectTimeout = true, seconds(1) }, seconds(1)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				tt.set(r)
				r.full(full["command"], time.Hour)
				_, err := r.run()
				if !errors.Is(err, threads.ErrOut) || ClassOf(err) != event.ClassTasks {
					t.Errorf("got %v", err)
				}
				r.within(r.now(), tt.want, tt.want+seconds(1))
				if got := r.times("release"); len(got) != len(r.times("acquire")) {
					t.Errorf("released at %v", got)
				}
			})
		})
	}
}

// A signal, or a loss of the lease, ends the wait for room.
func TestRoomSignal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.full(full["guard"], time.Hour)
		r.send(seconds(2), syscall.SIGTERM)
		exit, err := r.run()
		r.signalled(exit, err, syscall.SIGTERM)
		r.within(r.when("release"), seconds(2), seconds(2))
	})
}

// A helper that finds no room is started again, also within a single attempt.
func TestNoRoomForHelper(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Try = true
		no := fails(&locks.Error{Op: "open", Class: locks.ErrUnavailable, Err: threads.ErrOut})
		r.acquire = []acquisition{no, no, no, granted}
		r.job.begin = runs(time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
	})
}
