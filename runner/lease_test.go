package runner

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// silentAfter answers the first n renewals, and no others.
func silentAfter(n int) func(int) reply {
	return func(i int) reply { return reply{silent: i > n} }
}

// failing fails the renewals with the numbers from … to.
func failing(from, to int) func(int) reply {
	return func(i int) reply {
		if from <= i && i <= to {
			return reply{err: errDown}
		}
		return reply{}
	}
}

// A job that ends by itself is not signalled, however long it runs.
func TestRunsToItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.begin = runs(time.Hour, 3)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Code: 3})
		r.did(ran(time.Hour, "1h0m0s exit")...)
		r.quiet()
	})
}

func TestRunsUnderAPermanentLock(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.permanent, r.server.ttl = true, 0
		r.job.begin = runs(time.Hour, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(time.Hour, "1h0m0s exit")...)
		if r.renewals != 0 {
			t.Errorf("got %d renewals, want none", r.renewals)
		}
	})
}

// The last renewal that is acknowledged was sent at 3 s. So E is 17.985 s, the kill is two
// margins of 1 s before it, and the grace of 5 s ends there.
func TestPartition(t *testing.T) {
	replies := map[string]func(int) reply{
		"nothing arrives":   silentAfter(1),
		"no reply arrives":  func(n int) reply { return reply{lost: n > 1} },
		"requests are shed": failing(2, 1e9),
	}
	for name, renew := range replies {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.renew = renew
				r.job.on = deaf
				exit, err := r.run()
				r.failed(exit, err, locks.ErrLost)
				r.did(ran(seconds(15.985), "10.985s signal TERM", "15.985s kill", "15.985s exit")...)
			})
		})
	}
}

// A job that ends at the signal has its whole grace, and is not killed.
func TestPartitionOfAJobThatTidiesUp(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = silentAfter(1)
		r.job.on = tidies(seconds(4.9), 0)
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.did(ran(seconds(15.885), "10.985s signal TERM", "15.885s exit")...)
	})
}

// If the first renewal fails, E counts from the sending of the acquire, however late its answer
// was.
func TestPartitionFromTheStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = []acquisition{func(ctx context.Context, h *handle, try bool) (locks.Grant, error) {
			g, err := granted(ctx, h, try) // served at once, answered late
			time.Sleep(2 * time.Second)
			return g, err
		}}
		r.renew = silentAfter(0)
		r.job.on = deaf
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.did("0s open", "0s acquire", "2s start", "7.985s signal TERM", "12.985s kill", "12.985s exit", "12.985s release", "12.985s close")
	})
}

// No grace: there is nothing to signal for.
func TestPartitionWithoutGrace(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Timing = timing.New(ttl, 0)
		r.renew = silentAfter(1)
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.did(ran(seconds(15.985), "15.985s kill", "15.985s exit")...)
	})
}

// Renewals that fail do no harm if one succeeds before D_signal.
func TestShortOutage(t *testing.T) {
	for name, renew := range map[string]func(int) reply{
		"silence": func(n int) reply { return reply{silent: 2 <= n && n <= 3} },  // 6 s to 10 s
		"errors":  failing(2, 10),                                                // each 0.5 s
		"replies": func(n int) reply { return reply{lost: n%3 != 0 && n < 100} }, // for long
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.renew = renew
				r.job.begin = runs(time.Hour, 0)
				exit, err := r.run()
				r.ended(exit, err, proc.Exit{})
				r.did(ran(time.Hour, "1h0m0s exit")...)
			})
		})
	}
}

// A renewal that succeeds after the job was signalled does not save the job, and does not
// prolong its grace.
func TestRecoveryInTheGrace(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = func(n int) reply { return reply{silent: r.now() > seconds(5) && r.now() < seconds(12)} }
		r.job.on = deaf
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.did(ran(seconds(15.985), "10.985s signal TERM", "15.985s kill", "15.985s exit")...)
	})
}

// busy makes the supervisor busy for a while. Then it finds all events that happened meanwhile
// at once.
func (r *rig) busy(from, to time.Duration) {
	r.job.on = func(_ *job, sig syscall.Signal) {
		if sig == syscall.SIGUSR2 {
			time.Sleep(to - from)
		}
	}
	r.send(from, syscall.SIGUSR2)
}

// If the lock is lost for certain, the job is killed at once, without a signal before.
func TestDefiniteLoss(t *testing.T) {
	t.Run("renewal", func(t *testing.T) {
		often(t, func(t *testing.T, r *rig) {
			r.at(seconds(4), r.server.evict)
			r.busy(seconds(5.5), seconds(6.5))
			exit, err := r.run()
			r.failed(exit, err, locks.ErrLost)
			r.did(ran(seconds(6.5), "5.5s signal USR2", "6.5s kill", "6.5s exit")...)
		})
	})
	t.Run("watch", func(t *testing.T) {
		often(t, func(t *testing.T, r *rig) {
			r.job.on = deaf
			r.at(seconds(7.5), func() { r.server.evict(); r.lost <- locks.ErrLost })
			exit, err := r.run()
			r.failed(exit, err, locks.ErrLost)
			r.did(ran(seconds(7.5), "7.5s kill", "7.5s exit")...)
		})
	})
}

// The guard gets a new deadline before traces and metrics do, because they may be slow, and the
// guard kills the job at the latest deadline that it knows.
func TestTheGuardHearsOfARenewalFirst(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.begin = runs(seconds(10), 0)
		renewals := 0
		r.watch.renewed = func(n keepalive.Renewal) {
			renewals++
			r.job.mu.Lock()
			defer r.job.mu.Unlock()
			if want := r.c.Timing.KillAt(n.Deadline); r.job.killBy != want {
				t.Errorf("renewal %d: the guard kills at %v, want at %v", renewals, r.job.killBy.Sub(epoch), want.Sub(epoch))
			}
		}
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		if renewals != 3 {
			t.Errorf("got %d renewals, want 3", renewals)
		}
	})
}

// The job gets the configured signal.
func TestSignalChoice(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Signal = syscall.SIGUSR1
		r.renew = silentAfter(1)
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.did(ran(seconds(15.985), "10.985s signal USR1", "15.985s kill", "15.985s exit")...)
	})
}

// A job that ends by itself at the moment at which the lease ends has not ended under the lock.
func TestExitWithTheLease(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.busy(seconds(7), seconds(8))
		r.at(seconds(7.5), func() {
			r.lost <- locks.ErrLost
			r.job.quit(0)
		})
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
	})
}

// The answers of the socket follow the lease.
func TestAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Backend = "model://server"
		r.job.begin = runs(seconds(8), 0)
		check := func(at, deadline time.Duration) {
			r.at(at, func() {
				a := r.ask()
				if a.Lost || a.Deadline != epoch.Add(deadline) || a.Token != token || a.Lock != "nightly" || a.Holder != "host/1/a" || a.Store != "5706e" {
					t.Errorf("%v: got %+v, want the deadline %v", at, a, deadline)
				}
			})
		}
		check(seconds(2.9), seconds(14.985))
		check(seconds(3.1), seconds(17.985))
		check(seconds(6.1), seconds(20.985))
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		if !r.ask().Lost {
			t.Error("after the release: the lease is ours, want lost")
		}
	})
}

func TestAnswerOfAPermanentLock(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.permanent, r.server.ttl = true, 0
		r.job.begin = runs(seconds(8), 0)
		r.at(seconds(5), func() {
			if a := r.ask(); a.Lost || a.Deadline != 0 {
				t.Errorf("got %+v, want no deadline", a)
			}
		})
		_, _ = r.run()
	})
}

// A loss says who has taken the lock away. Who only tried, because the server went down, is not
// blamed for the end of the lease.
func TestTakenAway(t *testing.T) {
	for name, test := range map[string]struct {
		then func(*rig)
		says bool
	}{
		"lost":       {func(r *rig) { r.at(seconds(3.5), func() { r.lost <- locks.ErrLost }) }, true},
		"no renewal": {func(r *rig) { r.renew = silentAfter(1) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.at(seconds(3.2), func() { r.asked <- Request{By: "ops", Force: true}.Encode() })
				test.then(r)
				exit, err := r.run()
				r.failed(exit, err, locks.ErrLost)
				if got := strings.Contains(err.Error(), "taken away by ops"); got != test.says {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
