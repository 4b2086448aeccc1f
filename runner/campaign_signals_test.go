package runner

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// During the campaign, a signal to end ends us at once.
func TestSignalWhileWaiting(t *testing.T) {
	for _, sig := range endings {
		for name, acquire := range map[string][]acquisition{
			"in the queue": {waits(time.Hour, "bob", nil)},
			"no answer":    {hangs(time.Hour, granted)},
			"in a pause":   {fails(errDown)},
		} {
			t.Run(signals.Name(sig)+" "+name, func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					r.acquire = acquire
					r.wait(time.Minute)
					r.send(seconds(2.345), sig)
					exit, err := r.run()
					r.signalled(exit, err, sig)
					r.notStarted(r.opened, seconds(2.345), seconds(2.345))
				})
			})
		}
	}
}

// signalled checks a run that a signal ended before its job was started.
func (r *rig) signalled(exit proc.Exit, err error, want syscall.Signal) {
	r.t.Helper()
	var got *SignalError
	if !errors.As(err, &got) || got.Signal != want || exit != (proc.Exit{}) {
		r.t.Errorf("Run: got %v, %v; want a SignalError of %v", exit, err, want)
	}
	for _, j := range r.jobs {
		if j.started != nil && j.name() == "" {
			r.t.Error("the job was started")
		}
	}
}

// Other signals are dropped, because there is no job.
func TestOtherSignalsWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = []acquisition{waits(seconds(10), "bob", granted)}
		for i, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTSTP} {
			r.send(time.Duration(i+1)*time.Second, sig)
		}
		r.job.begin = runs(seconds(1), 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did("0s open", "0s acquire", "10s start", "11s exit", "11s release", "11s close")
	})
}

// A signal at the moment of the grant still ends us, and the lock is released, even if the wait
// had ended before.
func TestSignalWhileAcquiring(t *testing.T) {
	for _, limit := range []time.Duration{time.Second, time.Minute} {
		t.Run(limit.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.wait(limit)
				r.acquire = []acquisition{stubborn(hangs(seconds(2.5), granted))}
				r.send(seconds(2), syscall.SIGTERM)
				exit, err := r.run()
				r.signalled(exit, err, syscall.SIGTERM)
				r.did("0s open", "0s acquire", "2.5s release", "2.5s close")
			})
		})
	}
}

// A signal at the moment of the grant ends us, or is passed to the job, but is never lost.
func TestSignalIsNotLost(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.acquire = []acquisition{func(ctx context.Context, h *handle, try bool) (locks.Grant, error) {
			r.signals <- syscall.SIGINT
			return granted(ctx, h, try)
		}}
		exit, err := r.run()
		if r.job.started == nil {
			r.signalled(exit, err, syscall.SIGINT)
			r.did("0s open", "0s acquire", "0s release", "0s close")
			return
		}
		r.ended(exit, err, proc.Exit{Signal: syscall.SIGINT})
		r.did(ran(0, "0s signal INT", "0s exit")...)
	})
}

// If a signal arrives after the campaign has failed, but before Run returns, Run returns the
// signal.
func TestSignalAsTheWaitEnds(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.wait(seconds(1))
		r.acquire = []acquisition{stubborn(hangs(seconds(2.5), fails(errDown)))}
		r.send(seconds(2), syscall.SIGTERM)
		exit, err := r.run()
		r.signalled(exit, err, syscall.SIGTERM)
	})
}
