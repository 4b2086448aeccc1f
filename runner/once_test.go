package runner

import (
	"errors"
	"log/slog"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// oncePer sets Options.Once.
func (r *rig) oncePer(schedule string, window int64) {
	r.c.Once = &Once{Schedule: schedule, Window: window, Label: "w"}
}

// noted writes a success into the record.
func (r *rig) noted(schedule string, window int64, by string) {
	r.t.Helper()
	record := new(ledger.Record)
	if err := record.Finish(schedule, ledger.Run{Window: window, By: by, At: 1e9, Token: 3}); err != nil {
		r.t.Fatal(err)
	}
	var err error
	if r.shelf.text, err = record.Encode(); err != nil {
		r.t.Fatal(err)
	}
}

// needed reports whether the window still needs a run.
func (r *rig) needed(schedule string, window int64) bool {
	r.t.Helper()
	_, done := r.recorded().Done(schedule, window)
	return !done
}

func TestOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.oncePer("day", 5)
		r.noted("day", 4, "bob")
		r.job.begin = runs(time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did("0s open", "0s acquire", "0s start", "1s exit", "1s set record", "1s release", "1s close")
		if run, done := r.recorded().Done("day", 5); !done || run.By != "host/1/a" || run.Token != token || run.At == 0 {
			t.Errorf("got %+v, %v", run, done)
		}
	})
}

func TestOnceSkips(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hooks(nil)
		r.c.MinHold = time.Minute
		r.oncePer("day", 4)
		r.noted("day", 4, "bob\x1b")
		_, err := r.run()
		var skipped *SkippedError
		if !errors.As(err, &skipped) || skipped.Run.Token != 3 {
			t.Fatalf("got %v, want a SkippedError", err)
		}
		if got, want := err.Error(), `skipped: the window w was run by bob\x1b, until `+time.Unix(1e9, 0).Format(time.DateTime); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		r.did("0s open", "0s acquire", "0s release", "0s close")
		if got := r.events[1]; got.Kind != event.Skipped || got.Reason != err.Error() {
			t.Errorf("the event is %+v", got)
		}
	})
}

// Only a success of the whole job under the lock is noted for the window.
func TestOnceStaysOpen(t *testing.T) {
	for name, f := range map[string]func(*rig){
		"failure":     func(r *rig) { r.job.begin = runs(time.Second, 1) },
		"signal":      func(r *rig) { r.job.on = tidies(time.Second, 0); r.send(time.Second, syscall.SIGTERM) },
		"max runtime": func(r *rig) { r.job.on = tidies(time.Second, 0); r.c.MaxRuntime = time.Second },
		"resigned": func(r *rig) {
			r.job.on = tidies(time.Second, 0)
			r.at(time.Second, func() { r.asked <- Request{}.Encode() })
		},
		"partition": func(r *rig) { r.job.on = tidies(time.Second, 0); r.renew = silentAfter(0) },
		"loss": func(r *rig) {
			r.at(time.Second, func() { r.server.evict(); r.lost <- locks.ErrLost })
		},
		"lost while leftovers end": func(r *rig) {
			r.job.begin, r.job.on = forks(time.Second, 0), deaf
			r.at(2*time.Second, func() { r.server.evict(); r.lost <- locks.ErrLost })
		},
		"not started": func(r *rig) { r.job.refuse = &proc.StartError{Command: "job", Err: errDown} },
		"not elected": func(r *rig) { r.hooks(map[string]func(*job){"elected": runs(time.Second, 1)}) },
		"write lost": func(r *rig) {
			r.job.begin = runs(time.Second, 0)
			r.shelf.write = func(int) reply { return reply{err: locks.ErrLost} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.oncePer("day", 5)
				f(r)
				_, _ = r.run()
				if !r.needed("day", 5) {
					t.Error("a success was noted")
				}
			})
		})
	}
}

// If a success cannot be noted, that is logged, and the run still succeeds.
func TestOnceNotNoted(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.oncePer("day", 5)
		r.job.begin = runs(time.Second, 0)
		r.shelf.write = func(int) reply { return reply{err: locks.ErrLost} }
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		want := []string{"the job succeeded, but this could not be recorded; it may run again: lost"}
		if got := r.logged(slog.LevelError); !slices.Equal(got, want) {
			t.Errorf("got the errors %q, want %q", got, want)
		}
	})
}

// A job that succeeds after a restart has succeeded.
func TestOnceRestart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.oncePer("day", 5)
		r.restarts(Restart{OnFailure: true})
		r.each(time.Second, 1, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		if r.needed("day", 5) {
			t.Error("the success was not noted")
		}
	})
}

// With Attempt, the start counts, and is noted before it.
func TestOnceAttempt(t *testing.T) {
	for _, code := range []int{0, 1} {
		bubbleIn(t, func(t *testing.T, r *rig) {
			r.oncePer("day", 5)
			r.c.Once.Attempt = true
			r.job.begin = runs(time.Second, code)
			exit, err := r.run()
			r.ended(exit, err, proc.Exit{Code: code})
			r.did("0s open", "0s acquire", "0s set record", "0s start", "1s exit", "1s release", "1s close")
			if r.needed("day", 5) {
				t.Error("the attempt was not noted")
			}
		})
	}
}

// With Attempt, a window is used up only by a start of the job: not if --on-elected fails or is
// ended, and not if the job cannot be executed.
func TestOnceAttemptNotStarted(t *testing.T) {
	for name, f := range map[string]func(*rig){
		"not executable": func(r *rig) { r.job.refuse = &proc.StartError{Command: "job", Err: syscall.ETXTBSY} },
		"not elected":    func(r *rig) { r.hooks(map[string]func(*job){"elected": runs(time.Second, 1)}) },
		"a signal during on-elected": func(r *rig) {
			r.hooks(map[string]func(*job){"elected": func(j *job) { j.on = tidies(time.Second, 0) }})
			r.send(time.Second, syscall.SIGTERM)
		},
		"not contained": func(r *rig) {
			r.job.slow = true
			r.at(time.Second, func() { r.job.answers(errors.New("contain the job: no such tier")) })
		},
		"no guard": func(r *rig) { r.starts = func(j *job, _ proc.Command) { j.refuse = proc.ErrGuardDied } },
		"noted without an answer": func(r *rig) {
			r.shelf.write = func(n int) reply { return reply{lost: n == 1} }
			r.send(time.Second, syscall.SIGTERM)
		},
		"a signal without room": func(r *rig) {
			r.full(full["command"], time.Hour)
			r.send(time.Second, syscall.SIGTERM)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.oncePer("day", 5)
				r.c.Once.Attempt = true
				f(r)
				if _, err := r.run(); err == nil {
					t.Error("the run has succeeded")
				}
				if !r.needed("day", 5) {
					t.Error("an attempt was noted, and the job never ran")
				}
			})
		})
	}
}

// A job that the guard has killed at its deadline has not ended under the lock, although we
// learned of a renewal before that.
func TestKilledByTheGuard(t *testing.T) {
	for name, leaves := range map[string]bool{"the first process": false, "what it has left": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.oncePer("day", 5)
				r.c.WaitChildren = true
				if leaves {
					r.job.begin = forks(time.Second, 0)
				}
				r.at(2*time.Second, func() {
					r.job.overdue = true
					r.job.die(syscall.SIGKILL)
				})
				exit, err := r.run()
				r.failed(exit, err, locks.ErrLost)
				if !r.needed("day", 5) {
					t.Error("a success was noted")
				}
			})
		})
	}
}

// With Attempt, a job whose start cannot be noted is not started.
func TestOnceAttemptNotNoted(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.oncePer("day", 5)
		r.c.Once.Attempt = true
		r.shelf.write = func(int) reply { return reply{err: locks.ErrLost} }
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.did("0s open", "0s acquire", "0s release", "0s close")
	})
}
