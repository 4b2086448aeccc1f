package runner

import (
	"errors"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// each lets the job's starts end one after the other with these codes, after so
// long; the last of them is that of all that follow.
func (r *rig) each(takes time.Duration, codes ...int) {
	r.job.begin = func(j *job) {
		n := 0
		for _, other := range r.jobs {
			if other.name() == "" {
				n++
			}
		}
		runs(takes, codes[min(n, len(codes))-1])(j)
	}
}

// restarts sets pauses from 1 s to 8 s.
func (r *rig) restarts(p Restart) {
	p.Delay, p.MaxDelay = time.Second, 8*time.Second
	r.c.Restart = p
}

func TestRestartOnFailure(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.restarts(Restart{OnFailure: true})
		r.each(time.Second, 1, 2, 3, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		starts, exits := r.times("start"), r.times("exit")
		if len(starts) != 4 {
			t.Fatalf("got %q, want 4 starts", r.trace)
		}
		for i, longest := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			r.within(starts[i+1]-exits[i], longest/2, longest)
		}
		if got := r.times("acquire"); len(got) != 1 {
			t.Errorf("got acquisitions at %v, want one: the lease is kept", got)
		}
		if at := r.when("release"); at != exits[3] {
			t.Errorf("released at %v, want %v", at, exits[3])
		}
		want := []event.Kind{event.Acquired, event.Started, event.Exited, event.Restarting, event.Started, event.Exited, event.Restarting,
			event.Started, event.Exited, event.Restarting, event.Started, event.Exited, event.Released}
		if got := r.kinds(); !slices.Equal(got, want) {
			t.Errorf("got events %v, want %v", got, want)
		}
	})
}

// A job that succeeds is started again only with OnSuccess.
func TestRestartAlways(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.restarts(Restart{OnFailure: true, OnSuccess: true})
		r.each(time.Minute, 0, 1, 0)
		r.send(10*time.Minute, syscall.SIGTERM)
		_, err := r.run()
		if err != nil && !errors.As(err, new(*SignalError)) {
			t.Errorf("got %v", err)
		}
		starts, exits := r.times("start"), r.times("exit")
		if len(starts) < 9 {
			t.Fatalf("got %d starts in 10 minutes, want one a minute", len(starts))
		}
		for i := range len(starts) - 1 { // a minute is more than the longest pause: each run was healthy
			r.within(starts[i+1]-exits[i], time.Second/2, time.Second)
		}
	})
}

// No pause is longer than MaxDelay, however often the job fails.
func TestRestartMaxDelay(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.restarts(Restart{OnFailure: true})
		r.each(time.Second, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		starts, exits := r.times("start"), r.times("exit")
		for i := 4; i < len(starts)-1; i++ {
			r.within(starts[i+1]-exits[i], 4*time.Second, 8*time.Second)
		}
	})
}

func TestGiveUp(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.restarts(Restart{OnFailure: true, GiveUpAfter: 3})
		r.each(time.Second, 7)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Code: 7})
		if got := r.times("start"); len(got) != 3 {
			t.Errorf("started at %v, want 3 times", got)
		}
	})
}

// A healthy run in between resets the count of failures.
func TestGiveUpCountsInARow(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.restarts(Restart{OnFailure: true, GiveUpAfter: 3})
		n := 0
		r.job.begin = func(j *job) {
			n++
			if n == 3 {
				runs(8*time.Second, 1)(j)
			} else {
				runs(time.Second, 1)(j)
			}
		}
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Code: 1})
		if n != 5 {
			t.Errorf("started %d times, want 5: the third run was healthy, but failed", n)
		}
	})
}

// Between two runs, a signal ends us, and so does a loss.
func TestRestartPause(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.restarts(Restart{OnFailure: true})
		r.c.Restart.Delay = 8 * time.Second
		r.each(time.Second, 1)
		r.send(2*time.Second, syscall.SIGUSR1) // there is no job to pass it to
		r.send(3*time.Second, syscall.SIGINT)
		_, err := r.run()
		var signalled *SignalError
		if !errors.As(err, &signalled) || signalled.Signal != syscall.SIGINT {
			t.Errorf("got %v, want a SignalError of INT", err)
		}
		r.did(ran(3*time.Second, "1s exit")...)
	})
}

func TestRestartPauseLost(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.restarts(Restart{OnFailure: true})
		r.c.Restart.Delay = 8 * time.Second
		r.each(time.Second, 1)
		r.at(3*time.Second, func() { r.server.evict(); r.lost <- locks.ErrLost })
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.did(ran(3*time.Second, "1s exit")...)
	})
}

// If the lease has expired while no job ran, the job is not started again.
func TestRestartPausePartition(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Restart = Restart{OnFailure: true, Delay: time.Minute, MaxDelay: time.Minute}
		r.each(time.Second, 1)
		r.renew = silentAfter(0)
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.within(r.when("release"), seconds(14.98), seconds(15.1))
		if got := r.times("start"); len(got) != 1 {
			t.Errorf("started at %v, want once", got)
		}
	})
}

// Nor is it if too little of the lease is left.
func TestRestartTooLate(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Restart = Restart{OnFailure: true, Delay: 20 * time.Second, MaxDelay: 20 * time.Second} // ≥ 10 s
		r.each(seconds(0.5), 1)
		r.renew = silentAfter(0)
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		if got := r.times("start"); len(got) != 1 {
			t.Errorf("started at %v, want once: D_signal is at 8 s", got)
		}
	})
}

func TestMaxRuntime(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.MaxRuntime = time.Minute
		r.job.on = deaf
		_, err := r.run()
		var timeout *TimeoutError
		if !errors.As(err, &timeout) || timeout.Limit != time.Minute {
			t.Errorf("got %v, want a TimeoutError", err)
		}
		r.did(ran(65*time.Second, "1m0s signal TERM", "1m5s kill", "1m5s exit")...)
	})
}

// A job that ends in time is not signalled, and a job that is being ended is not ended for
// another reason.
func TestMaxRuntimeInTime(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.MaxRuntime = time.Minute
		r.job.on = tidies(3*time.Second, 4)
		r.send(58*time.Second, syscall.SIGTERM)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Code: 4})
		r.did(ran(61*time.Second, "58s signal TERM", "1m1s exit")...)
	})
}

// A job that ran for too long has failed.
func TestMaxRuntimeRestart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.restarts(Restart{OnFailure: true, GiveUpAfter: 2})
		r.c.MaxRuntime = seconds(0.5)
		_, err := r.run()
		if !errors.As(err, new(*TimeoutError)) {
			t.Errorf("got %v, want a TimeoutError", err)
		}
		if got := r.times("start"); len(got) != 2 {
			t.Errorf("started at %v, want twice", got)
		}
	})
}

func TestMinHold(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.MinHold = time.Minute
		r.job.begin = runs(time.Second, 3)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Code: 3})
		r.did(ran(time.Minute, "1s exit")...)
		if r.renewals < 15 {
			t.Errorf("%d renewals in a minute, want one every 3 s", r.renewals)
		}
	})
}

// The longest MinHold is held until somebody ends it.
func TestMinHoldForEver(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.MinHold = math.MaxInt64
		r.job.begin = runs(time.Second, 3)
		r.send(time.Hour, syscall.SIGTERM)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Code: 3})
		r.did(ran(time.Hour, "1s exit")...)
	})
}

func TestMinHoldIsOver(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.MinHold = time.Minute
		r.job.begin = runs(2*time.Minute, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(2*time.Minute, "2m0s exit")...)
	})
}

// A signal or a loss ends the wait, but does not change the outcome of the job.
func TestMinHoldEnds(t *testing.T) {
	for what, f := range map[string]func(*rig){
		"signal": func(r *rig) { r.send(10*time.Second, syscall.SIGTERM) },
		"loss":   func(r *rig) { r.at(10*time.Second, func() { r.server.evict(); r.lost <- locks.ErrLost }) },
		"asked":  func(r *rig) { r.at(10*time.Second, func() { r.asked <- Request{By: "ops"}.Encode() }) },
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.c.MinHold = time.Minute
				r.job.begin = runs(time.Second, 3)
				f(r)
				exit, err := r.run()
				r.ended(exit, err, proc.Exit{Code: 3})
				r.did(ran(10*time.Second, "1s exit")...)
			})
		})
	}
}

// MinHold does not apply when we resign.
func TestMinHoldAfterARequest(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.MinHold = time.Minute
		r.at(time.Second, func() { r.asked <- Request{}.Encode() })
		if _, err := r.run(); !errors.As(err, new(*ResignError)) {
			t.Errorf("got %v, want a ResignError", err)
		}
		r.did(ran(time.Second, "1s signal TERM", "1s exit")...)
	})
}

// MinHold does not apply to a job that a signal ended.
func TestMinHoldAfterASignal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.MinHold = time.Minute
		r.send(time.Second, syscall.SIGTERM)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGTERM})
		r.did(ran(time.Second, "1s signal TERM", "1s exit")...)
	})
}

func TestSplay(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Splay = time.Minute
		r.job.begin = runs(time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did("1m0s open", "1m0s acquire", "1m0s start", "1m1s exit", "1m1s release", "1m1s close")
	})
}

func TestSplaySignal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Splay = time.Minute
		r.send(time.Second, syscall.SIGTERM)
		exit, err := r.run()
		r.signalled(exit, err, syscall.SIGTERM)
		r.did()
	})
}

// A command that cannot be started for a passing reason is started again. Here its file is just
// being written, as by a deploy.
func TestStartAgain(t *testing.T) {
	busy := &proc.StartError{Command: "x", Err: syscall.ETXTBSY}
	for name, f := range map[string]func(*rig){
		"restart": func(r *rig) { r.restarts(Restart{OnFailure: true}) },
		"rejoin":  func(r *rig) { r.restarts(Restart{}); r.c.Rejoin = true; r.send(seconds(20), syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				f(r)
				r.job.refuse, r.job.begin = busy, runs(time.Second, 0)
				_, _ = r.run()
				if fails, starts := r.times("start fails"), r.times("start"); len(fails) != 1 || len(starts) == 0 {
					t.Errorf("it failed to start at %v, and was started at %v", fails, starts)
				}
			})
		})
	}
	t.Run("once", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.job.refuse = busy
			if _, err := r.run(); !errors.Is(err, syscall.ETXTBSY) {
				t.Errorf("got %v", err)
			}
		})
	})
}
