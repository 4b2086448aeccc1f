package runner

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// slowly runs a test of a job whose start is not answered until the test calls answers.
func slowly(t *testing.T, test func(*testing.T, *rig)) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.slow = true
		test(t, r)
	})
}

// emittedNoJob checks that no event says that a job was started or has exited.
func (r *rig) emittedNoJob() {
	r.t.Helper()
	if kinds := r.kinds(); slices.Contains(kinds, event.Started) || slices.Contains(kinds, event.Exited) {
		r.t.Errorf("nobody knows whether a job ran, but got events %v", kinds)
	}
}

// All signals that arrive while the job is being started are handled.
func TestStartingAndSignals(t *testing.T) {
	slowly(t, func(t *testing.T, r *rig) {
		r.job.on = deaf
		r.send(seconds(1), syscall.SIGINT)
		r.send(seconds(2), syscall.SIGINT)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGKILL})
		r.did("0s open", "0s acquire", "0s start", "1s signal INT", "2s signal INT", "6s kill", "6s exit", "6s release", "6s close")
		r.emittedNoJob()
	})
}

// Signals that do not end us wait until there is a job.
func TestStartingAndOtherSignals(t *testing.T) {
	slowly(t, func(t *testing.T, r *rig) {
		r.send(seconds(1), syscall.SIGUSR1)
		r.send(seconds(1.5), syscall.SIGUSR2)
		r.send(seconds(2.5), syscall.SIGTERM)
		r.at(seconds(2), func() { r.job.answers(nil) })
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGTERM})
		r.did("0s open", "0s acquire", "0s start", "2s signal USR1", "2s signal USR2", "2.5s signal TERM", "2.5s exit", "2.5s release", "2.5s close")
		if got, want := r.kinds(), []event.Kind{event.Acquired, event.Started, event.Signalled, event.Exited, event.Released}; !slices.Equal(got, want) {
			t.Errorf("got events %v, want %v", got, want)
		}
	})
}

// The job may run before we learn that it was started. A signal of that time reaches it at
// once, and is reported after the start.
func TestStartedAfterASignal(t *testing.T) {
	slowly(t, func(t *testing.T, r *rig) {
		r.job.on = deaf
		r.send(seconds(1), syscall.SIGTERM)
		r.at(seconds(2), func() { r.job.answers(nil) })
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGKILL})
		r.did("0s open", "0s acquire", "0s start", "1s signal TERM", "6s kill", "6s exit", "6s release", "6s close")
		if got, want := r.kinds(), []event.Kind{event.Acquired, event.Started, event.Signalled, event.Killed, event.Exited, event.Released}; !slices.Equal(got, want) {
			t.Errorf("got events %v, want %v", got, want)
		}
	})
}

// A loss kills a job that is being started at once.
func TestStartingAndALoss(t *testing.T) {
	slowly(t, func(t *testing.T, r *rig) {
		r.at(seconds(2), r.server.evict)
		r.at(seconds(2.5), func() { r.lost <- locks.ErrLost })
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.within(r.when("kill"), seconds(2.5), seconds(2.5))
		r.emittedNoJob()
	})
}

// So does a deadline.
func TestStartingAtTheDeadline(t *testing.T) {
	slowly(t, func(t *testing.T, r *rig) {
		r.renew = silentAfter(0)
		r.job.on = deaf
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.within(r.when("signal TERM"), seconds(7.985), seconds(7.985))
		r.within(r.when("kill"), seconds(12.985), seconds(12.985))
		r.emittedNoJob()
	})
}

// If a job that is being started cannot be killed, we give up on it after the end of the lease,
// and do not release the lock.
func TestStartingAndUnkillable(t *testing.T) {
	slowly(t, func(t *testing.T, r *rig) {
		r.outlived, r.job.immortal, r.job.on = true, true, deaf
		r.job.failed = make(chan error, 1)
		r.at(seconds(1), func() { r.job.failed <- proc.ErrUnguarded })
		r.send(seconds(2), syscall.SIGINT)
		r.at(seconds(4), r.server.evict)
		r.at(seconds(4.5), func() { r.lost <- locks.ErrLost })
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.within(r.when("kill"), seconds(1), seconds(1))
		if len(r.times("release")) > 0 {
			t.Error("the lock was released")
		}
		r.within(r.now(), seconds(14), seconds(30))
		r.emittedNoJob()
	})
}

// If nobody knows whether the job was started, that is a loss.
func TestStartingUnguarded(t *testing.T) {
	slowly(t, func(t *testing.T, r *rig) {
		r.job.failed = make(chan error, 1)
		r.at(seconds(1), func() {
			r.job.failed <- proc.ErrUnguarded
			r.job.die(syscall.SIGKILL)
		})
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.emittedNoJob()
		r.emitted(event.Lost, 1)
	})
}

// A late answer that the start failed is an error of the start.
func TestStartingFails(t *testing.T) {
	want := &proc.StartError{Command: "job", NotFound: true}
	slowly(t, func(t *testing.T, r *rig) {
		r.at(seconds(1), func() { r.job.answers(want) })
		_, err := r.run()
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		r.did("0s open", "0s acquire", "0s start", "1s release", "1s close")
		r.emittedNoJob()
	})
}

// A start that is too late is a loss.
func TestStartingTooLate(t *testing.T) {
	slowly(t, func(t *testing.T, r *rig) {
		r.at(seconds(1), func() { r.job.answers(proc.ErrUnguarded) })
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.emitted(event.Lost, 1)
		r.emittedNoJob()
	})
}

// If the guard turns out to be dead, another one is started, unless a signal has ended us.
func TestStartingGuardDied(t *testing.T) {
	for name, sent := range map[string]bool{"alone": false, "signalled": true} {
		t.Run(name, func(t *testing.T) {
			slowly(t, func(t *testing.T, r *rig) {
				r.job.on = deaf
				r.at(seconds(2), func() { r.job.answers(proc.ErrGuardDied) })
				r.starts = func(j *job, _ proc.Command) {
					if j != r.jobs[0] {
						j.begin = runs(time.Second, 0)
					}
				}
				if sent {
					r.send(seconds(1), syscall.SIGINT)
				}
				exit, err := r.run()
				if sent {
					r.signalled(exit, err, syscall.SIGINT)
				} else {
					r.ended(exit, err, proc.Exit{})
				}
				if want := map[bool]int{false: 2, true: 1}[sent]; len(r.jobs) != want {
					t.Errorf("%d starters, want %d", len(r.jobs), want)
				}
			})
		})
	}
}

// Whatever else happens at the same moment, the first event says that the job was started.
func TestStartedComesFirst(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.job.failed = make(chan error, 1)
		r.job.begin = func(j *job) { j.quit(3) }
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Code: 3})
		if got, want := r.kinds(), []event.Kind{event.Acquired, event.Started, event.Exited, event.Released}; !slices.Equal(got, want) {
			t.Errorf("got events %v, want %v", got, want)
		}
	})
}

// That is also so if the guard has failed since.
func TestStartedAndFailed(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.job.failed = make(chan error, 1)
		r.job.begin = func(j *job) { j.failed <- proc.ErrUnguarded }
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		if got := r.kinds(); len(got) < 3 || got[1] != event.Started || got[2] != event.Lost {
			t.Errorf("got events %v", got)
		}
	})
}

// The time limit of a hook begins when the hook was started.
func TestStartingHook(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hooks(nil)
		r.c.Hooks.Timeout = seconds(2)
		first := true
		r.starts = func(j *job, c proc.Command) {
			if j.slow = first; first {
				first, j.begin = false, nil
				r.at(seconds(5), func() {
					j.answers(nil)
					j.quit(0)
				})
				return
			}
			j.begin = runs(time.Second, 0)
		}
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
	})
}
