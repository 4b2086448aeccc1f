package runner

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// If the machine sleeps beyond the end of the lease, the job is killed within a second after it
// wakes up. Release then only releases our own lock, if it still exists. There is no event that
// we have released the lock, because it was no longer ours.
func TestSleep(t *testing.T) {
	for _, at := range []float64{0.1, 2.95, 3.05, 4.2, 5.9} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.outlived = true
				r.job.dying = 100 * time.Millisecond
				r.at(seconds(at), func() { r.sleep(time.Hour) })
				exit, err := r.run()
				r.failed(exit, err, locks.ErrLost)
				r.within(r.when("kill"), time.Hour+seconds(at), time.Hour+seconds(at+1))
				if got := r.logged(slog.LevelError); len(got) > 0 {
					t.Errorf("errors: %q", got)
				}
				if n := len(r.trace); !strings.HasSuffix(r.trace[n-2], " release") {
					t.Errorf("what is left was not released: %q", r.trace)
				}
				if strings.Contains(join(r.trace), "signal") {
					t.Errorf("the job was signalled: %q", r.trace)
				}
				if slices.Contains(r.kinds(), event.Released) {
					t.Errorf("events: %v; want none that the lock was released", r.kinds())
				}
			})
		})
	}
}

// That is also so if the job is dead before we know that the lease has ended.
func TestSleepAndDieAtOnce(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.outlived = true
		r.at(seconds(4.2), func() { r.sleep(time.Hour) })
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		if slices.Contains(r.kinds(), event.Released) {
			t.Errorf("events: %v; want none that the lock was released", r.kinds())
		}
	})
}

// When the machine wakes up, the rest of the lease is used.
func TestSleepIntoTheGrace(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = silentAfter(1)
		r.job.on = deaf
		r.at(seconds(4), func() { r.sleep(seconds(8)) }) // until 12 s
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		signalled := r.when("signal TERM")
		r.within(signalled, seconds(12), seconds(13))
		r.did(ran(seconds(15.985), signalled.String()+" signal TERM", "15.985s kill", "15.985s exit")...)
	})
}

// A short sleep does no harm.
func TestShortSleep(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.begin = runs(time.Minute, 0)
		r.at(seconds(3.5), func() { r.sleep(seconds(6)) }) // until 9.5 s; D_signal is 10.985 s
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
	})
}

// A job that ended by itself after the end of the lease did not end under the lock, even if
// nobody has noticed yet that the lease has expired.
func TestExitInSleep(t *testing.T) {
	often(t, func(t *testing.T, r *rig) {
		r.outlived = true
		r.at(seconds(4.2), func() {
			r.sleep(time.Hour)
			r.job.quit(0)
		})
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
	})
}

// If no time is left to stop the job again, it is not started, and the lock is released.
func TestTooLateToStart(t *testing.T) {
	for _, asleep := range []time.Duration{seconds(7.985), seconds(14), time.Hour} {
		t.Run(asleep.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.renew = silentAfter(0)
				r.happened = func(e event.Event) {
					if e.Kind == event.Acquired {
						r.sleep(asleep)
					}
				}
				exit, err := r.run()
				r.failed(exit, err, locks.ErrLost)
				at := asleep.String()
				r.did("0s open", "0s acquire", at+" release", at+" close")
			})
		})
	}
}

// One microsecond before D_signal, the job is started.
func TestNotTooLateToStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.happened = func(e event.Event) {
			if e.Kind == event.Acquired {
				r.sleep(seconds(7.984999))
			}
		}
		r.renew = silentAfter(0)
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		at := "7.984999s"
		r.did("0s open", "0s acquire", at+" start", "7.985s signal TERM", "7.985s exit", "7.985s release", "7.985s close")
	})
}

// If the lock is lost before the start, the job is not started.
func TestLostBeforeTheStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.happened = func(e event.Event) {
			if e.Kind == event.Acquired {
				r.lost <- locks.ErrLost
				time.Sleep(time.Nanosecond)
			}
		}
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.did("0s open", "0s acquire", "1ns release", "1ns close")
	})
}
