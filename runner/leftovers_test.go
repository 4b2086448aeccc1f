package runner

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// Processes that the first one leaves behind are ended like a job: they are signalled, have the
// grace, and are killed. Only then the lock is released. The exit is that of the first
// process.
func TestLeftovers(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.begin = forks(seconds(2), 3)
		r.job.on = deaf
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Code: 3})
		r.did(ran(seconds(7), "2s exit", "2s signal TERM", "7s kill", "7s the rest ends")...)
	})
}

func TestLeftoversThatHeedTheSignal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.begin = forks(seconds(2), 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(seconds(2), "2s exit", "2s signal TERM", "2s the rest ends")...)
	})
}

// The lock is released as soon as the last process has ended.
func TestLeftoversThatTakeTheirTime(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.begin = forks(seconds(2), 0)
		r.job.on = func(*job, syscall.Signal) {
			r.at(seconds(2.010), func() { r.job.leave(0) })
		}
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(seconds(2.010), "2s exit", "2s signal TERM", "2.01s the rest ends")...)
	})
}

// Processes that are left of a job that was signalled have got the signal as well.
func TestLeftoversInTheGrace(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.begin = func(j *job) { j.leave(1) }
		r.job.on = tidies(time.Second, 0)
		r.send(seconds(2), syscall.SIGTERM)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(seconds(7), "2s signal TERM", "3s exit", "7s kill", "7s the rest ends")...)
	})
}

func TestLeftoversAreKilledByALoss(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.begin = forks(seconds(2), 0)
		r.job.on = deaf
		r.at(seconds(4), r.server.evict)
		r.renew = func(n int) reply { return reply{} }
		r.at(seconds(4.5), func() { r.lost <- locks.ErrLost })
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.did(ran(seconds(4.5), "2s exit", "2s signal TERM", "4.5s kill", "4.5s the rest ends")...)
	})
}

// The deadline also holds for processes that are left.
func TestLeftoversAtTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = silentAfter(1)
		r.job.begin = forks(seconds(10.9), 0)
		r.job.on = deaf
		r.at(seconds(12), func() { r.sleep(seconds(4)) }) // until 16 s, which the timer notices within an eighth of what was left
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		kill := r.when("kill")
		r.within(kill, seconds(16), seconds(16.5))
		r.did(ran(kill, "10.9s exit", "10.9s signal TERM", kill.String()+" kill", kill.String()+" the rest ends")...)
	})
}

// The release waits for a job that takes time to die.
func TestReleaseWaitsForDeath(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = silentAfter(1)
		r.job.on, r.job.dying = deaf, 900*time.Millisecond
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.did(ran(seconds(16.885), "10.985s signal TERM", "15.985s kill", "16.885s exit")...)
	})
}

// SIGKILL is repeated, because a process that was just being started may miss the first one.
func TestKillIsRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.outlived = true // the loss was reported only now
		r.job.immortal = true
		r.at(seconds(1), func() { r.lost <- locks.ErrLost })
		r.at(seconds(1.55), func() { r.job.mu.Lock(); r.job.immortal = false; r.job.mu.Unlock() })
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.within(r.when("exit"), seconds(1.55), seconds(1.6))
	})
}

const unkillable = "processes of the job survive SIGKILL; the lock is not released"

// If a job survives SIGKILL, the lock is not released, and ends with its lease.
func TestUnkillable(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.outlived = true
		r.renew = silentAfter(1)
		r.job.on, r.job.immortal = deaf, true
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.within(r.now(), seconds(27.985), seconds(28.085)) // 10 s after E, when it kills again
		r.did("0s open", "0s acquire", "0s start", "10.985s signal TERM", "15.985s kill", r.now().String()+" close")
		if got := r.logged(slog.LevelError); join(got) != unkillable {
			t.Errorf("errors: %q, want %q", got, unkillable)
		}
	})
}

func TestUnkillableAfterDefiniteLoss(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.outlived = true
		r.job.immortal = true
		r.at(seconds(4), func() { r.lost <- locks.ErrLost })
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.did("0s open", "0s acquire", "0s start", "4s kill", r.now().String()+" close")
	})
}

// While the lock is ours, we wait for a job that survives SIGKILL, however long that takes, and
// log that.
func TestUnkillableUnderALivingLease(t *testing.T) {
	for name, ttl := range map[string]time.Duration{"renewed": ttl, "permanent": 0} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.permanent, r.server.ttl = ttl == 0, ttl
				r.job.on, r.job.immortal = deaf, true
				r.send(seconds(1), syscall.SIGTERM)
				r.at(time.Minute, func() { r.job.die(syscall.SIGKILL) })
				exit, err := r.run()
				r.ended(exit, err, proc.Exit{Signal: syscall.SIGKILL})
				r.did(ran(time.Minute, "1s signal TERM", "6s kill", "1m0s exit")...)
				if got := r.logged(slog.LevelError); len(got) != 1 || !strings.Contains(got[0], "survive SIGKILL") {
					t.Errorf("errors: %q, want one that says that the job survives", got)
				}
			})
		})
	}
}

// If we may not kill the job, that is logged once, and not at each attempt.
func TestKillIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.on, r.job.immortal, r.job.refuse = deaf, true, errors.New("operation not permitted")
		r.send(seconds(1), syscall.SIGTERM)
		r.at(seconds(12), func() { r.job.die(syscall.SIGKILL) })
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGKILL})
		if got := r.logged(slog.LevelError); join(got) != "the job could not be killed: operation not permitted" {
			t.Errorf("errors: %q, want it once", got)
		}
	})
}

// When the guard dies, so does the job, perhaps at the same moment. That is a loss, and not the
// end of the job by itself.
func TestGuardDiesWithTheJob(t *testing.T) {
	died := errors.New("the guard has died")
	often(t, func(t *testing.T, r *rig) {
		r.job.failed = make(chan error, 1)
		r.job.begin = func(j *job) { // before the supervisor looks
			j.failed <- died
			j.die(syscall.SIGKILL)
		}
		if _, err := r.run(); !errors.Is(err, locks.ErrLost) || !errors.Is(err, died) {
			t.Errorf("got %v, want a loss because %v", err, died)
		}
	})
}

// While processes are left, the supervisor waits for their end or for a deadline. On a host that
// has little processor time, a supervisor that looks again and again takes it from the guard.
func TestIdleWhileProcessesAreLeft(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.outlived = true
		r.job.begin = forks(seconds(2), 0)
		r.job.on, r.job.immortal = deaf, true
		r.renew = silentAfter(1)
		var inGrace, afterKill atomic.Int64
		r.at(seconds(3), func() { inGrace.Store(-r.reads.Load()) })
		r.at(seconds(6), func() { inGrace.Add(r.reads.Load()) })
		r.at(seconds(20), func() { afterKill.Store(-r.reads.Load()) })
		r.at(seconds(23), func() { afterKill.Add(r.reads.Load()) })
		_, _ = r.run()
		if r.when("kill") < seconds(6) || r.when("kill") > seconds(20) {
			t.Fatalf("killed at %v", r.when("kill"))
		}
		if n := inGrace.Load(); n > 100 {
			t.Errorf("the clock was read %d times in 3 s of the grace", n)
		}
		if n := afterKill.Load(); n > 600 {
			t.Errorf("the clock was read %d times in 3 s of killing", n)
		}
	})
}
