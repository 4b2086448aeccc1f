package runner

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// hooks sets all four hooks. Each of them and the job takes a second, except those with a begin
// here.
func (r *rig) hooks(begin map[string]func(*job)) {
	hook := func(name string) proc.Command { return proc.Command{Path: "/bin/" + name, Args: []string{name}} }
	r.c.Hooks = Hooks{Standby: hook("standby"), Elected: hook("elected"), Resign: hook("resign"), Lost: hook("lost"), Timeout: 30 * time.Second}
	r.job.begin = func(j *job) {
		if f, ok := begin[strings.TrimSpace(j.name())]; ok {
			f(j)
		} else {
			runs(time.Second, 0)(j)
		}
	}
}

// env returns variables of the n-th command that was started.
func (r *rig) env(n int, names ...string) string {
	var found []string
	for _, name := range names {
		for _, kv := range r.jobs[n].started.Env {
			if value, ok := strings.CutPrefix(kv, name+"="); ok {
				found = append(found, value)
			}
		}
	}
	return strings.Join(found, "|")
}

func TestHooks(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hooks(map[string]func(*job){"": runs(time.Second, 3)})
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Code: 3})
		r.did("0s open", "0s acquire", "0s start elected", "1s exit elected", "1s start", "2s exit",
			"2s start resign", "3s exit resign", "3s release", "3s close")
		for n, want := range []string{"elected|the lock was acquired|host/1/a|7|nightly", "7|nightly", "resign|the job exited with 3|host/1/a|7|nightly"} {
			if got := r.env(n, "LEADERRUN_HOOK", "LEADERRUN_REASON", "LEADERRUN_LEADER", "LEADERRUN_TOKEN", "LEADERRUN_LOCK_NAME"); got != want {
				t.Errorf("command %d: got the environment %s, want %s", n, got, want)
			}
			if hook := n != 1; r.jobs[n].started.NoInput != hook {
				t.Errorf("command %d: NoInput is %v, want %v", n, !hook, hook)
			}
		}
		r.quiet()
	})
}

// If --on-elected fails, the job is not started, and the term is handed over.
func TestElectedFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hooks(map[string]func(*job){"elected": runs(time.Second, 3)})
		_, err := r.run()
		var resigned *ResignError
		if !errors.As(err, &resigned) || resigned.Reason != "--on-elected failed: exited with 3" {
			t.Errorf("got %v, want a ResignError", err)
		}
		r.did("0s open", "0s acquire", "0s start elected", "1s exit elected", "1s start resign", "2s exit resign", "2s release", "2s close")
	})
}

// If --on-elected is not started because the environment is too large, the job could not be
// started either, on any host.
func TestElectedIsTooLarge(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hooks(nil)
		r.job.refuse = proc.NewStartError("elected", syscall.E2BIG)
		_, err := r.run()
		if !isA[*proc.StartError](err) || isA[*ResignError](err) || !strings.HasPrefix(err.Error(), "--on-elected: ") {
			t.Errorf("got %v, want a StartError", err)
		}
	})
}

func TestElectedTakesTooLong(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hooks(map[string]func(*job){"elected": func(*job) {}})
		_, err := r.run()
		if !errors.As(err, new(*ResignError)) {
			t.Errorf("got %v, want a ResignError", err)
		}
		if at := r.when("signal TERM"); at != 30*time.Second {
			t.Errorf("signalled at %v, want at 30s", at)
		}
	})
}

// A signal during --on-elected ends it, and the job is not started.
func TestElectedSignalled(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hooks(map[string]func(*job){"elected": func(*job) {}})
		r.send(seconds(0.5), syscall.SIGTERM)
		exit, err := r.run()
		r.signalled(exit, err, syscall.SIGTERM)
		r.did("0s open", "0s acquire", "0s start elected", "500ms signal TERM", "500ms exit elected",
			"500ms start resign", "1.5s exit resign", "1.5s release", "1.5s close")
	})
}

// Each hook under the lease is ended in time, like a job.
func TestHooksArePartOfTheTerm(t *testing.T) {
	for _, name := range []string{"elected", "resign"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.hooks(map[string]func(*job){name: func(j *job) { j.on = deaf }})
				r.c.Hooks.Lost.Path = ""
				r.c.Hooks.Timeout = time.Hour
				r.renew = silentAfter(0)
				_, err := r.run()
				if lost := errors.Is(err, locks.ErrLost); lost != (name == "elected") { // the job had ended by itself
					t.Errorf("got %v", err)
				}
				if term, kill := r.when("signal TERM"), r.when("kill"); term != seconds(7.985) || kill != seconds(12.985) {
					t.Errorf("signalled at %v and killed at %v, want at D_signal, 7.985s, and D_kill, 12.985s", term, kill)
				}
				if slices.Contains(r.trace, "start lost") {
					t.Error("a hook that was not set was started")
				}
			})
		})
	}
}

// on-lost runs when nothing of the job is left. It needs no lease.
func TestLostHook(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hooks(map[string]func(*job){"": func(j *job) { j.dying = time.Second }})
		r.at(10*time.Second, func() { r.server.evict(); r.lost <- locks.ErrLost })
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.did("0s open", "0s acquire", "0s start elected", "1s exit elected", "1s start", "10s kill", "11s exit",
			"11s release", "11s start lost", "12s exit lost", "12s close")
		if got := r.env(2, "LEADERRUN_HOOK", "LEADERRUN_REASON", "LEADERRUN_LEADER", "LEADERRUN_TOKEN"); got != "lost|lost||7" {
			t.Errorf("got the environment %s", got)
		}
	})
}

// A job that ends at the signal, before the end of its lease, was stopped by a loss and not by a
// resignation.
func TestLostHookAfterAPartition(t *testing.T) {
	for _, what := range []string{"", "elected", "resign"} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.hooks(map[string]func(*job){what: func(*job) {}})
				r.c.MinHold = time.Hour
				if what == "resign" {
					r.c.MinHold = 0
				}
				r.renew = silentAfter(0)
				r.release = reply{err: errDown}
				_, err := r.run()
				if lost := errors.Is(err, locks.ErrLost); lost != (what != "resign") { // the job had ended by itself
					t.Errorf("got %v", err)
				}
				if at := r.when("start lost"); at != seconds(7.985) {
					t.Errorf("the hook was started at %v, want at D_signal", at)
				}
				if tried := r.times("start resign"); (tried != nil) != (what == "resign") {
					t.Errorf("on-resign was started at %v", tried)
				}
			})
		})
	}
}

// If a hook fails or cannot be started, that is only a warning.
func TestHooksFail(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hooks(map[string]func(*job){"resign": runs(time.Second, 9)})
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.warned("the hook failed: exited with 9")
	})
}

// on-standby runs once, while we wait. It is ended at the grant, and --on-elected waits for its
// end.
func TestStandbyHook(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hooks(map[string]func(*job){"standby": func(j *job) { j.on = tidies(time.Second, 0) }})
		r.acquire = []acquisition{waits(time.Second, "bob\n", waits(time.Second, "carol", granted))}
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did("0s open", "0s acquire", "0s start standby", "2s entrust", "2s signal TERM", "3s exit standby", "3s start elected", "4s exit elected", "4s start", "5s exit",
			"5s start resign", "6s exit resign", "6s release", "6s close")
		if said := r.logged(slog.LevelWarn); len(said) > 0 {
			t.Errorf("got the warnings %q", said)
		}
		if got := r.env(0, "LEADERRUN_HOOK", "LEADERRUN_REASON", "LEADERRUN_LEADER", "LEADERRUN_TOKEN"); got != `standby|held by bob\n|bob\n` {
			t.Errorf("got the environment %s", got)
		}
	})
}

// When the campaign ends, so does on-standby.
func TestStandbyHookEnds(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hooks(map[string]func(*job){"standby": func(j *job) { j.on = deaf }})
		r.acquire = []acquisition{waits(time.Hour, "bob", granted)}
		r.send(time.Second, syscall.SIGTERM)
		exit, err := r.run()
		r.signalled(exit, err, syscall.SIGTERM)
		r.did("0s open", "0s acquire", "0s start standby", "1s close", "1s signal TERM", "6s kill", "6s exit standby")
	})
}

// When the lock is ours and on-standby does not end, anything that ends a term ends it. The
// release does not wait for the hook.
func TestStandbyHookIsInTheWay(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*rig)
		want error
	}{
		"signal":  {func(r *rig) { r.signals <- syscall.SIGTERM }, new(SignalError)},
		"request": {func(r *rig) { r.asked <- Request{}.Encode() }, new(ResignError)},
		"loss":    {func(r *rig) { r.server.evict(); r.lost <- locks.ErrLost }, locks.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.hooks(map[string]func(*job){"standby": func(j *job) { j.on = deaf }})
				r.acquire = []acquisition{waits(time.Second, "bob", granted)}
				r.at(3*time.Second, func() { test.do(r) })
				_, err := r.run()
				if !errors.Is(err, test.want) && !sameType(err, test.want) {
					t.Errorf("got %v, want %T", err, test.want)
				}
				r.did("0s open", "0s acquire", "0s start standby", "1s entrust", "1s signal TERM", "3s release", "3s close", "6s kill", "6s exit standby")
			})
		})
	}
}

// Heartbeats continue meanwhile.
func TestStandbyHookAlive(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hooks(map[string]func(*job){"standby": func(j *job) { j.on = deaf }})
		r.beats(2*time.Second, 2*time.Second)
		r.acquire = []acquisition{waits(time.Second, "bob", granted)}
		_, _ = r.run()
		if got := r.led(); got[0] != time.Second || got[1] != 3*time.Second || got[2] != 5*time.Second {
			t.Errorf("got %v, want it every 2s from 1s on", got)
		}
	})
}

// Any --signal starts the grace, even one that does not end a process by default.
func TestStandbyHookOtherSignal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Signal = syscall.SIGUSR1
		r.hooks(map[string]func(*job){"standby": func(*job) {}})
		r.acquire = []acquisition{waits(time.Hour, "bob", granted)}
		r.send(time.Second, syscall.SIGTERM)
		exit, err := r.run()
		r.signalled(exit, err, syscall.SIGTERM)
		r.did("0s open", "0s acquire", "0s start standby", "1s close", "1s signal USR1", "6s kill", "6s exit standby")
	})
}

// No hook gets the backend's credentials.
func TestHooksWithoutSecrets(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.ScrubEnv, r.secrets = true, []string{"PASSWORD"}
		r.c.Command.Env = []string{"HOME=/", "PASSWORD=x", "LEADERRUN_BACKEND=model://u:x@server"}
		r.hooks(nil)
		r.acquire = []acquisition{waits(time.Second, "bob", granted)}
		_, _ = r.run()
		for n := range r.jobs {
			if got := r.env(n, "PASSWORD", "LEADERRUN_BACKEND"); got != "" {
				t.Errorf("%s got %s", r.jobs[n].started.Path, got)
			}
		}
	})
}

// Each term has its hooks, in order.
func TestHooksOfEachTerm(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Rejoin = true
		r.restarts(Restart{})
		r.hooks(map[string]func(*job){"": func(*job) {}})
		r.at(10*time.Second, func() { r.server.evict(); r.lost <- locks.ErrLost })
		r.at(20*time.Second, func() { r.asked <- Request{}.Encode() })
		r.send(40*time.Second, syscall.SIGTERM)
		_, _ = r.run()
		var got []string
		for _, line := range r.trace {
			if _, what, _ := strings.Cut(line, " "); strings.HasPrefix(what, "start") {
				got = append(got, strings.TrimPrefix(what, "start"))
			}
		}
		want := []string{" elected", "", " lost", " elected", "", " resign", " elected", "", " resign"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Each command knows which children of ours are not part of the job.
func TestOthersAreKept(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hooks(nil)
		r.host.notOfJob = func(pid int) bool { return pid == 5 }
		_, _ = r.run()
		if len(r.jobs) < 3 {
			t.Errorf("%d commands were started", len(r.jobs))
		}
		for _, j := range r.jobs {
			if keep := j.started.OnDeath.NotOfJob; keep == nil || !keep(5) || keep(6) {
				t.Errorf("%s does not know that 5 is not of the job, and 6 is", j.started.Path)
			}
		}
	})
}
