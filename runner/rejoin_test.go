package runner

import (
	"errors"
	"log/slog"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// After a loss, we campaign again at once with another handle, and start the job again.
func TestRejoinAfterLoss(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Rejoin = true
		r.restarts(Restart{})
		r.at(10*time.Second, func() { r.server.evict(); r.lost <- locks.ErrLost })
		r.send(20*time.Second, syscall.SIGTERM)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGTERM})
		r.did("0s open", "0s acquire", "0s start", "10s kill", "10s exit", "10s release", "10s close",
			"10s open", "10s acquire", "10s start", "20s signal TERM", "20s exit", "20s release", "20s close")
		r.warned("campaigning again: leadership was lost and the job was stopped: lost")
	})
}

// Where nobody waits, a job that succeeds is started again after the shortest pause, and there is
// no long one in which nobody would lead after GiveUpAfter. Unknown waiters are waited for.
func TestRejoinAlone(t *testing.T) {
	for cannot, longest := range map[bool]time.Duration{false: time.Second, true: 4 * time.Second} {
		t.Run("", func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.c.Rejoin, r.shelf.cannot = true, cannot
				r.restarts(Restart{})
				r.each(time.Second, 0, 0, 0)
				r.send(30*time.Second, syscall.SIGTERM)
				_, _ = r.run()
				opened, released := r.times("open"), r.times("release")
				r.within(opened[3]-released[2], longest/2, longest)
			})
		})
	}
	t.Run("gave up", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.c.Rejoin = true
			r.restarts(Restart{OnFailure: true, GiveUpAfter: 1})
			r.each(time.Second, 1, 0)
			r.at(13*time.Second, func() { r.signals <- syscall.SIGTERM })
			_, _ = r.run()
			opened, released := r.times("open"), r.times("release")
			r.within(opened[1]-released[0], 0, time.Second)
		})
	})
}

// After a job that ended by itself, another term follows, after a pause in which anybody can get
// the lock.
func TestRejoinAfterTheJob(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Rejoin = true
		r.shelf.queue = []locks.Place{{}}
		r.restarts(Restart{})
		r.each(time.Second, 0, 1, 0)
		r.send(30*time.Second, syscall.SIGTERM)
		_, err := r.run()
		if err != nil && !errors.As(err, new(*SignalError)) {
			t.Errorf("got %v", err)
		}
		opened, released := r.times("open"), r.times("release")
		if len(opened) < 4 {
			t.Fatalf("got %q, want several terms", r.trace)
		}
		for i, longest := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			r.within(opened[i+1]-released[i], longest/2, longest)
		}
	})
}

// If we cannot lead for long, for example because the guard dies each time, there are pauses
// between the campaigns.
func TestRejoinAfterLossAtOnce(t *testing.T) {
	for name, f := range map[string]func(*rig){
		"not started": func(r *rig) { r.starts = func(j *job, _ proc.Command) { j.refuse = proc.ErrUnguarded } },
		"unguarded": func(r *rig) {
			r.job.failed = make(chan error, 1)
			r.job.begin = func(j *job) { j.failed <- proc.ErrUnguarded }
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.c.Rejoin = true
				r.restarts(Restart{})
				f(r)
				r.send(time.Minute, syscall.SIGTERM)
				_, _ = r.run()
				if n := len(r.times("open")); n < 7 || n > 20 {
					t.Errorf("%d campaigns in a minute, want pauses of up to 8s", n)
				}
			})
		})
	}
}

// Errors that another campaign would meet again end the run.
func TestRejoinEnds(t *testing.T) {
	usage := &locks.UsageError{What: "no"}
	start := &proc.StartError{Command: "x", NotFound: true, Err: errors.New("no")}
	for name, f := range map[string]func(*rig) error{
		"usage":  func(r *rig) error { r.acquire = []acquisition{fails(usage)}; return usage },
		"denied": func(r *rig) error { r.acquire = []acquisition{fails(locks.ErrDenied)}; return locks.ErrDenied },
		"start":  func(r *rig) error { r.job.refuse = start; return start },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.c.Rejoin = true
				r.restarts(Restart{})
				want := f(r)
				if _, err := r.run(); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			})
		})
	}
}

// After GiveUpAfter, we wait up to the longest pause.
func TestRejoinAfterGivingUp(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Rejoin = true
		r.shelf.queue = []locks.Place{{}}
		r.restarts(Restart{OnFailure: true, GiveUpAfter: 1})
		r.each(time.Second, 1, 0)
		r.at(13*time.Second, func() { r.signals <- syscall.SIGTERM })
		_, _ = r.run()
		opened, released := r.times("open"), r.times("release")
		r.within(opened[1]-released[0], 4*time.Second, 8*time.Second)
	})
}

func TestResignWhenAsked(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.job.on = tidies(2*time.Second, 0)
		r.at(time.Minute, func() { r.asked <- Request{By: "ops/1/a\x1b", Reason: "upgrade"}.Encode() })
		_, err := r.run()
		var resigned *ResignError
		if !errors.As(err, &resigned) || resigned.Reason != `asked to resign by ops/1/a\x1b: upgrade` {
			t.Errorf("got %v, want a ResignError", err)
		}
		r.did(ran(62*time.Second, "1m0s signal TERM", "1m2s exit")...)
		r.quiet()
	})
}

// A job that ignores the request to resign is killed after its grace.
func TestResignDeaf(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.on = deaf
		r.at(time.Minute, func() { r.asked <- Request{}.Encode() })
		_, err := r.run()
		if !errors.As(err, new(*ResignError)) {
			t.Errorf("got %v, want a ResignError", err)
		}
		r.did(ran(65*time.Second, "1m0s signal TERM", "1m5s kill", "1m5s exit")...)
	})
}

// A request that arrives while the job is being stopped for another reason still counts: the job
// is not started again.
func TestResignWhileStopping(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.restarts(Restart{OnFailure: true})
		r.c.MaxRuntime = time.Minute
		r.job.on = tidies(2*time.Second, 0)
		r.at(61*time.Second, func() { r.asked <- Request{}.Encode() })
		r.send(time.Hour, syscall.SIGTERM)
		_, err := r.run()
		if !errors.As(err, new(*ResignError)) {
			t.Errorf("got %v, want a ResignError", err)
		}
		r.did(ran(62*time.Second, "1m0s signal TERM", "1m2s exit")...)
	})
}

// A request that arrives when the job has ended by itself does not change the outcome.
func TestResignWhileLeftoversEnd(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.begin, r.job.on = forks(time.Second, 3), deaf
		r.at(2*time.Second, func() { r.asked <- Request{}.Encode() })
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Code: 3})
		if slices.Contains(r.kinds(), event.Resigned) {
			t.Error("there is an event that we resigned")
		}
	})
}

func TestNoResign(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.NoResign = true
		r.job.begin = runs(2*time.Minute, 0)
		r.at(time.Minute, func() { r.asked <- Request{By: "ops"}.Encode() })
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.warned("refused to resign: asked to resign by ops")
	})
}

func TestNoResignOften(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.NoResign = true
		r.job.begin = runs(10*time.Minute, 0)
		for range 2 * maxRefused {
			r.at(time.Minute, func() { r.asked <- Request{By: "ops"}.Encode() })
		}
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		if got := len(r.logged(slog.LevelWarn)); got != maxRefused {
			t.Errorf("%d refusals were logged; want %d", got, maxRefused)
		}
	})
}

func TestResignGarbage(t *testing.T) {
	for _, text := range []string{"", "no", `[]`, `{"by":1}`, "\xff"} {
		bubbleIn(t, func(t *testing.T, r *rig) {
			r.job.begin = runs(2*time.Minute, 0)
			for range 3 {
				r.at(time.Minute, func() { r.asked <- []byte(text) })
			}
			exit, err := r.run()
			r.ended(exit, err, proc.Exit{})
			r.warned("ignored an invalid request; others of this term are not logged")
		})
	}
}

// After we have resigned, we campaign again, but other waiters get the lock first, even if they
// look only every few seconds.
func TestResignRejoin(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Rejoin = true
		r.restarts(Restart{})
		r.at(time.Minute, func() { r.asked <- Request{}.Encode() })
		r.send(2*time.Minute, syscall.SIGTERM)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGTERM})
		opened := r.times("open")
		if len(opened) != 2 {
			t.Fatalf("got %q, want two terms", r.trace)
		}
		r.within(opened[1], time.Minute+minPause, time.Minute+minPause+time.Second)
	})
}
