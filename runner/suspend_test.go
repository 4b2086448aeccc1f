package runner

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// A tty is a Terminal that records what is done with it.
type tty struct {
	r      *rig
	ours   bool // we are the foreground group
	shells bool // others are
	given  bool
	away   time.Duration // how long a Suspend lasts
	orphan bool          // Suspend has no effect
	missed []os.Signal   // those that we catch before a Suspend
}

func (r *rig) onTerminal() *tty {
	f := &tty{r: r, ours: true}
	r.host.terminal = func() Terminal { return f }
	return f
}

func (f *tty) Offer() *os.File { f.given = f.isOurs(); return nil }
func (f *tty) Started(int)     {}
func (f *tty) Continued()      { f.r.note("continued") }
func (f *tty) Yield() bool     { f.r.note("yield"); return f.isOurs() }
func (f *tty) Close()          {}
func (f *tty) Elsewhere() bool { return f.shells }

func (f *tty) isOurs() bool {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	return f.ours
}

// foreground makes us the foreground group.
func (f *tty) foreground() {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	f.ours = true
}

func (f *tty) Give() bool {
	if f.isOurs() && !f.given {
		f.given = true
		f.r.note("give")
	}
	return f.given
}

func (f *tty) Take(restore bool) bool {
	had := f.given
	if f.given = false; had && restore {
		f.r.note("restore")
	} else if had {
		f.r.note("take")
	}
	return had
}

func (f *tty) Suspend(sig os.Signal, alone bool) bool {
	who := "suspend "
	if alone {
		who = "suspend alone "
	}
	f.r.note(who + signals.Name(sig))
	for _, sig := range f.missed {
		f.r.signals <- sig
	}
	f.r.sleep(f.away)
	if !f.orphan {
		f.r.signals <- syscall.SIGCONT
	}
	return !f.orphan
}

// stop suspends the job.
func (r *rig) stop(at time.Duration, sig syscall.Signal) {
	r.at(at, func() { r.job.suspended <- sig })
}

// watchCONT records when the job is continued.
func (r *rig) watchCONT() {
	r.job.on = func(j *job, sig syscall.Signal) {
		if sig == syscall.SIGCONT {
			r.note("resume")
		} else if signals.Ending(sig) {
			j.die(sig)
		}
	}
}

// When the job is suspended, so are we. When we continue, so does the job, with the terminal.
func TestStopped(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.onTerminal().away = seconds(2)
		r.watchCONT()
		r.send(seconds(1)/2, syscall.SIGTSTP) // to us alone: the job has the terminal
		r.stop(seconds(1), syscall.SIGTSTP)
		r.send(seconds(2), syscall.SIGCONT) // another one, of somebody else's
		r.job.begin = runs(seconds(3), 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(seconds(5), "500ms signal TSTP", "1s restore", "1s suspend TSTP", "3s give", "3s resume",
			"4s continued", "4s resume", "5s exit", "5s take")...)
	})
}

// If our group was sent TSTP, we suspend only ourselves, and do not send it again.
func TestStoppedWithGroup(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := r.onTerminal()
		f.ours = false
		heeds := true
		r.job.on = func(j *job, sig syscall.Signal) {
			if sig == syscall.SIGTSTP && heeds {
				j.suspended <- sig
			}
			heeds = false
		}
		r.send(seconds(1), syscall.SIGTSTP)
		r.stop(seconds(2), syscall.SIGTSTP) // nobody has sent it to us
		r.send(seconds(3), syscall.SIGTSTP) // without an effect
		r.send(seconds(4), syscall.SIGCONT)
		r.stop(seconds(5), syscall.SIGTSTP)
		r.job.begin = runs(seconds(6), 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(seconds(6), "1s signal TSTP", "1s suspend alone TSTP", "2s suspend TSTP", "3s signal TSTP", "4s continued", "5s suspend TSTP", "6s exit")...)
	})
}

// A signal to stop that was caught before we were continued does not suspend the job again.
// Other signals are passed on.
func TestStoppedTwice(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := r.onTerminal()
		f.missed = []os.Signal{syscall.SIGTSTP, syscall.SIGUSR1, syscall.SIGTTIN, syscall.SIGTTOU}
		var got []string
		r.job.on = func(j *job, sig syscall.Signal) { got = append(got, signals.Name(sig)) }
		r.stop(seconds(1), syscall.SIGTSTP)
		r.job.begin = runs(seconds(3), 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		if want := "CONT, USR1"; join(got) != want {
			t.Errorf("the job got %s; want %s", join(got), want)
		}
	})
}

// If a job must be killed for a deadline that passed while we were suspended, it is not
// continued before that.
func TestStoppedTooLong(t *testing.T) {
	for name, away := range map[string]time.Duration{"killed": seconds(13), "expired": time.Hour} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.onTerminal().away = away
				r.outlived = away == time.Hour // the guard's task
				r.watchCONT()
				r.stop(seconds(1), syscall.SIGTSTP)
				exit, err := r.run()
				r.failed(exit, err, locks.ErrLost)
				for _, what := range r.trace {
					if _, do, _ := strings.Cut(what, " "); do == "resume" || do == "give" {
						t.Errorf("%s, after it was stopped for %v", what, away)
					}
				}
			})
		})
	}
}

// A job that wants the terminal gets it if we have it. If nobody can bring us into the
// foreground, the job gets HUP.
func TestStoppedForTheTerminal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := r.onTerminal()
		f.ours = false
		r.watchCONT()
		r.at(seconds(1), func() { f.foreground(); r.job.suspended <- syscall.SIGTTIN })
		r.job.begin = runs(seconds(3), 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(seconds(3), "1s give", "1s resume", "3s exit", "3s take")...)
	})
}

func TestStoppedAsAnOrphan(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := r.onTerminal()
		f.ours, f.orphan = false, true
		r.stop(seconds(1), syscall.SIGTTIN)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGHUP})
		r.did(ran(seconds(1), "1s suspend TTIN", "1s signal HUP", "1s exit")...)
	})
}

// If the job cannot be started, the use of the terminal ends: a hook that is suspended does not
// suspend us.
func TestTerminalAfterAStartThatFailed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.onTerminal()
		r.hooks(nil)
		r.starts = func(j *job, c proc.Command) {
			switch c.Path {
			case "/bin/job":
				j.refuse = &proc.StartError{Command: "job"}
			case "/bin/resign":
				j.refuse = nil
				j.suspended <- syscall.SIGTSTP
			}
		}
		_, _ = r.run()
		if len(r.times("start resign")) != 1 || len(r.times("suspend TSTP")) != 0 {
			t.Errorf("got %q", r.trace)
		}
	})
}

// Without a terminal, a suspended job stays suspended.
func TestStoppedElsewhere(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.watchCONT()
		r.stop(seconds(1), syscall.SIGSTOP)
		r.job.begin = runs(seconds(3), 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(seconds(3), "3s exit")...)
	})
}

// A job that was ended by Ctrl-C, while it had the terminal, is not started again.
func TestKeyEndsAll(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		t.Run(signals.Name(sig), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.onTerminal()
				r.c.Restart, r.c.Rejoin = Restart{OnFailure: true, Delay: time.Second, MaxDelay: time.Minute, GiveUpAfter: 3}, true
				r.job.begin = func(j *job) { time.AfterFunc(time.Second, func() { j.die(sig) }) }
				r.send(seconds(50), syscall.SIGTERM)
				exit, err := r.run()
				if sig == syscall.SIGTERM {
					if r.now() < seconds(10) {
						t.Error("a job that others have ended was not started again")
					}
					return
				}
				r.ended(exit, err, proc.Exit{Signal: sig})
				r.sentBy(false, true)
				if r.now() >= seconds(2) {
					t.Errorf("after %v, Run returned at %v", sig, r.now())
				}
			})
		})
	}
}

// When the job ends, the terminal is taken back, unless others have it by then.
func TestTakenBack(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		t.Run(fmt.Sprint(elsewhere), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				f := r.onTerminal()
				r.at(seconds(1), func() { f.shells = elsewhere; r.job.die(syscall.SIGKILL) })
				_, _ = r.run()
				if got := len(r.times("restore")) == 0; got != elsewhere {
					t.Errorf("got %v", r.trace)
				}
			})
		})
	}
}
