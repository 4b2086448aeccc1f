package runner

import (
	"errors"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/health"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// health sets checks every 10 s. They end at once, with these codes in turn, or never if the
// code is -1. All further checks have the last code.
func (r *rig) health(codes ...int) {
	r.c.Health = &health.Config{
		Command: proc.Command{Path: "/bin/check", Args: []string{"check"}}, Interval: 10 * time.Second, Retries: 3,
	}
	n := 0
	r.job.checks = func(a *check, c proc.Command) {
		if !c.NoInput || !slices.Contains(c.Env, "LEADERRUN_TOKEN=7") {
			r.t.Errorf("got the check %+v", c)
		}
		n++
		if code := codes[min(n, len(codes))-1]; code >= 0 {
			a.end(proc.Exit{Code: code})
		}
	}
}

func TestHealthy(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.health(0, 1, 1, 0)
		r.job.begin = runs(65*time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(65*time.Second, "10s check", "20s check", "30s check", "40s check", "50s check", "1m0s check", "1m5s exit")...)
		r.quiet()
	})
}

func TestUnhealthy(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.health(0, 1, 0, 1, 2, 3)
		_, err := r.run()
		var resigned *ResignError
		if !errors.As(err, &resigned) || !strings.Contains(resigned.Reason, "3 checks in a row failed, the last one with: it exited with 3") {
			t.Errorf("got %v, want a ResignError", err)
		}
		r.did(ran(time.Minute, "10s check", "20s check", "30s check", "40s check", "50s check", "1m0s check", "1m0s signal TERM", "1m0s exit")...)
	})
}

// With the longest start period, no failure counts before the first success.
func TestHealthForEver(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.health(1)
		r.c.Health.StartPeriod = math.MaxInt64
		r.job.begin = runs(45*time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(45*time.Second, "10s check", "20s check", "30s check", "40s check", "45s exit")...)
	})
}

// The variables of a check replace those of the job.
func TestHealthEnvironment(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.health(0)
		r.c.Command.Env, r.c.Health.Command.Env = []string{"A=1", "B=2"}, []string{"A=3"}
		r.job.checks = func(a *check, c proc.Command) {
			if !slices.Contains(c.Env, "A=3") || slices.Contains(c.Env, "A=1") || !slices.Contains(c.Env, "B=2") {
				t.Errorf("got %q", c.Env)
			}
			a.end(proc.Exit{})
		}
		r.job.begin = runs(15*time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
	})
}

// A check that hangs has failed, and is killed before the next.
func TestHealthLimit(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.health(-1)
		_, err := r.run()
		if !errors.As(err, new(*ResignError)) {
			t.Errorf("got %v, want a ResignError", err)
		}
		r.did(ran(time.Minute, "10s check", "20s kill check", "30s check", "40s kill check", "50s check", "1m0s kill check", "1m0s signal TERM", "1m0s exit")...)
	})
}

// In the start period, failures do not count until a check succeeds.
func TestHealthStartPeriod(t *testing.T) {
	for name, test := range map[string]struct {
		codes []int
		want  time.Duration
	}{
		"never well": {[]int{1}, 70 * time.Second}, // the checks at 50, 60 and 70 s count
		"once well":  {[]int{1, 0, 1}, 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.health(test.codes...)
				r.c.Health.StartPeriod = 45 * time.Second
				_, err := r.run()
				if !errors.As(err, new(*ResignError)) {
					t.Errorf("got %v, want a ResignError", err)
				}
				if at := r.when("signal TERM"); at != test.want {
					t.Errorf("signalled at %v, want %v", at, test.want)
				}
			})
		})
	}
}

// A check that runs does not outlive the job, and does not delay its end.
func TestHealthEndsWithTheJob(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.health(-1)
		r.job.begin = runs(12*time.Second, 3)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Code: 3})
		if r.when("release") != 12*time.Second {
			t.Errorf("got %q, want the lock released at 12s", r.trace)
		}
	})
}

// If neither the job nor its check can be killed, we give up on both.
func TestHealthUnkillable(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.health(-1)
		r.outlived, r.job.immortal, r.job.on = true, true, deaf
		r.renew = silentAfter(3)
		r.at(time.Hour, func() { // long after the end
			r.job.mu.Lock()
			r.job.immortal = false
			r.job.mu.Unlock()
			r.job.die(syscall.SIGKILL)
		})
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		if at := r.now(); at > time.Minute {
			t.Errorf("Run took %v", at)
		}
		time.Sleep(2 * time.Hour)
	})
}

// A check that not even SIGKILL ends, as on a disk that hangs, has failed, and so have those that
// cannot be started beside it.
func TestHealthStuck(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.health(-1)
		r.job.stuck = true
		_, err := r.run()
		if !errors.As(err, new(*ResignError)) {
			t.Errorf("got %v, want a ResignError", err)
		}
		r.did(ran(50*time.Second, "10s check", "20s kill check", "40s check refused", "50s check refused", "50s signal TERM", "50s exit")...)
	})
}

// After we were frozen, the result of a check counts that has ended meanwhile.
func TestHealthAfterAFreeze(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.health(-1)
		r.permanent, r.server.ttl, r.c.Health.Retries = true, 0, 1
		r.job.checks = func(a *check, _ proc.Command) {
			time.AfterFunc(seconds(5.5), func() {
				r.sleep(time.Minute)
				time.AfterFunc(seconds(0.44), func() { a.end(proc.Exit{}) })
			})
		}
		r.job.begin = runs(18*time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
	})
}

// With Rejoin, another term follows an unhealthy job.
func TestUnhealthyRejoin(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Rejoin = true
		r.restarts(Restart{OnFailure: true, OnSuccess: true})
		r.health(1)
		r.send(35*time.Second, syscall.SIGTERM)
		_, _ = r.run()
		if got := r.times("acquire"); len(got) != 2 || got[1] < 30*time.Second {
			t.Errorf("acquired at %v, want once more after 30s", got)
		}
	})
}

// A check that cannot be started has failed, unless that is because the job has ended or the
// guard has failed.
func TestHealthStartFails(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want error
	}{
		"not found": {&proc.StartError{Command: "check", NotFound: true}, new(ResignError)},
		"unguarded": {proc.ErrUnguarded, locks.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.health(0)
				r.job.refuseCheck = test.err
				r.renew = silentAfter(20)
				_, err := r.run()
				if resigned := errors.As(err, new(*ResignError)); resigned != (test.want != locks.ErrLost) {
					t.Errorf("got %v, want %T", err, test.want)
				}
			})
		})
	}
}
