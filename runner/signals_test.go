package runner

import (
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/signals"
)

var endings = []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT}

// A signal to end is passed on, and starts the grace.
func TestEndingSignals(t *testing.T) {
	for _, sig := range endings {
		t.Run(signals.Name(sig), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.send(seconds(1), sig)
				exit, err := r.run()
				r.ended(exit, err, proc.Exit{Signal: sig})
				r.sentBy(true, false)
				r.did(ran(seconds(1), "1s signal "+signals.Name(sig), "1s exit")...)
				r.quiet()
			})
		})
		t.Run(signals.Name(sig)+" ignored", func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.job.on = deaf
				r.send(seconds(1), sig)
				exit, err := r.run()
				r.ended(exit, err, proc.Exit{Signal: syscall.SIGKILL})
				r.sentBy(false, false)
				r.did(ran(seconds(6), "1s signal "+signals.Name(sig), "6s kill", "6s exit")...)
			})
		})
	}
}

// sentBy checks who has sent the signal of which the job died: others to us, or a key of the
// terminal to the job.
func (r *rig) sentBy(received, typed bool) {
	r.t.Helper()
	if r.exit.Received != received || r.exit.Typed != typed {
		r.t.Errorf("received %v, typed %v; want %v, %v", r.exit.Received, r.exit.Typed, received, typed)
	}
}

// A job may die of any signal that is passed on, or of one that only the job has got.
func TestDeathBySignal(t *testing.T) {
	for _, tt := range []struct {
		sent, died syscall.Signal
		received   bool
	}{
		{syscall.SIGINT, syscall.SIGINT, true}, // not by a key, although the job has the terminal
		{syscall.SIGUSR1, syscall.SIGUSR1, true},
		{syscall.SIGUSR1, syscall.SIGUSR2, false},
	} {
		t.Run(signals.Name(tt.died), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.onTerminal()
				r.job.on = func(j *job, sig syscall.Signal) { j.die(tt.died) }
				r.send(seconds(1), tt.sent)
				exit, err := r.run()
				r.ended(exit, err, proc.Exit{Signal: tt.died})
				r.sentBy(tt.received, false)
			})
		})
	}
}

// HUP is a signal to end if there is a terminal.
func TestHangUp(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.onTerminal()
		r.job.on = deaf
		r.send(seconds(1), syscall.SIGHUP)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGKILL})
		if at := r.when("kill"); at != seconds(6) {
			t.Errorf("killed at %v, want after the grace", at)
		}
	})
}

// Any other signal is only passed on. So is HUP without a terminal, because daemons reload on
// it.
func TestOtherSignals(t *testing.T) {
	others := []syscall.Signal{syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGALRM}
	bubble(t, func(t *testing.T, r *rig) {
		var want []string
		for i, sig := range others {
			at := time.Duration(i+1) * time.Second
			r.send(at, sig)
			want = append(want, at.String()+" signal "+signals.Name(sig))
		}
		r.job.begin, r.job.on = runs(time.Minute, 0), deaf
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(time.Minute, append(want, "1m0s exit")...)...)
	})
}

// The job gets CONT when we receive it, and with each signal to end, because a suspended job
// could not act on that otherwise.
func TestContinue(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var got []string
		r.job.on = func(j *job, sig syscall.Signal) { got = append(got, r.now().String()+" "+signals.Name(sig)) }
		r.send(seconds(1), syscall.SIGCONT)
		r.send(seconds(2), syscall.SIGINT)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGKILL})
		if want := "1s CONT, 2s INT, 2s CONT"; join(got) != want {
			t.Errorf("the job got %s; want %s", join(got), want)
		}
	})
}

func TestExitAfterASignal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.on = tidies(seconds(4.9), 0)
		r.send(seconds(1), syscall.SIGTERM)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(seconds(5.9), "1s signal TERM", "5.9s exit")...)
	})
}

// A second signal is also passed on, and does not prolong the grace.
func TestSecondSignal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.on = deaf
		r.send(seconds(1), syscall.SIGTERM)
		r.send(seconds(3), syscall.SIGINT)
		r.send(seconds(5.5), syscall.SIGTERM)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGKILL})
		r.did(ran(seconds(6), "1s signal TERM", "3s signal INT", "5.5s signal TERM", "6s kill", "6s exit")...)
	})
}

// Signals that arrived before the start are passed to the job.
func TestSignalBeforeTheStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.watch.campaignEnded = func() { r.signals <- syscall.SIGINT }
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGINT})
		r.did(ran(0, "0s signal INT", "0s exit")...)
	})
}

// A flood of signals delays neither the signal nor the kill.
func TestFlood(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = silentAfter(1)
		r.job.on = deaf
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond):
					r.signals <- syscall.SIGCONT
				}
			}
		}()
		exit, err := r.run()
		close(stop)
		r.failed(exit, err, locks.ErrLost)
		r.did(ran(seconds(15.985), "10.985s signal TERM", "15.985s kill", "15.985s exit")...)
	})
}

// If leadership is lost while a signal is ending the job, the loss counts.
func TestLossInTheGrace(t *testing.T) {
	t.Run("definite", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.job.on = deaf
			r.send(seconds(2), syscall.SIGTERM)
			r.at(seconds(4), r.server.evict)
			exit, err := r.run()
			r.failed(exit, err, locks.ErrLost)
			r.did(ran(seconds(6), "2s signal TERM", "6s kill", "6s exit")...)
		})
	})
	t.Run("deadline", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.renew = silentAfter(1)
			r.job.on = deaf
			r.send(seconds(10), syscall.SIGTERM)
			r.at(seconds(11.5), func() { r.sleep(seconds(4.6)) }) // until 16.1 s
			exit, err := r.run()
			r.failed(exit, err, locks.ErrLost)
			r.within(r.times("kill")[0], seconds(16.1), seconds(17))
		})
	})
	t.Run("the grace ends first", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.renew = silentAfter(1)
			r.job.on = deaf
			r.send(seconds(10), syscall.SIGTERM)
			exit, err := r.run()
			r.ended(exit, err, proc.Exit{Signal: syscall.SIGKILL})
			r.did(ran(seconds(15), "10s signal TERM", "15s kill", "15s exit")...)
		})
	})
}

// A job that cannot be signalled is killed after the grace.
func TestSignalFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.on, r.job.signals = deaf, syscall.EPERM
		r.send(seconds(1), syscall.SIGUSR1)
		r.send(seconds(2), syscall.SIGTERM)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGKILL})
		r.did(ran(seconds(7), "1s signal USR1", "2s signal TERM", "7s kill", "7s exit")...)
		r.warned("a signal could not be passed on: operation not permitted", "the job could not be signalled: operation not permitted", "killing the job: it has not ended in time after the signal")
	})
}
