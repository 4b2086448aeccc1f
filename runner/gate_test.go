package runner

import (
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// The granted lease counts. If it is too short, the lock is released.
func TestGateAfterASmallerGrant(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.server.ttl = 9 * time.Second // trusted for 8.991 s; 9 s are needed
		exit, err := r.run()
		r.failed(exit, err, locks.ErrUsage)
		r.did("0s open", "0s acquire", "0s release", "0s close")
		if got := r.kinds(); join(got) != "acquired, released, not_run" {
			t.Errorf("events: %v", got)
		}
	})
}

// A shorter lease than requested is used if it is long enough. Its deadlines follow from the
// granted lease. It is the grace for which less time is left.
func TestSmallerGrant(t *testing.T) {
	for name, tt := range map[string]struct {
		granted      time.Duration
		signal, kill string
	}{
		"a third":      {14400 * time.Millisecond, "7.5856s signal TERM", "12.3856s kill"},
		"what is left": {10 * time.Second, "7s signal TERM", "7.99s kill"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.server.ttl = tt.granted
				r.renew = silentAfter(0)
				r.job.on = deaf
				exit, err := r.run()
				r.failed(exit, err, locks.ErrLost)
				killed, _ := time.ParseDuration(strings.TrimSuffix(tt.kill, " kill"))
				r.did(ran(killed, tt.signal, tt.kill, killed.String()+" exit")...)
			})
		})
	}
}

// A longer lease than requested is used in full, but for the margin of a long one.
func TestGreaterGrant(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Timing = timing.New(3*time.Second, timing.KillAfter) // R 0.6, A 0.4, J and X 0.2; G 8 of the longer lease
		r.server.ttl = 60 * time.Second
		r.renew = silentAfter(0)
		r.job.on = deaf
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.did(ran(seconds(54.04), "46.04s signal TERM", "54.04s kill", "54.04s exit")...)
	})
}

// A lock that cannot end needs no lease.
func TestNoGateForPermanentLocks(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.permanent, r.server.ttl = true, 0
		r.c.Timing = timing.New(ttl, time.Hour)
		r.job.begin = runs(time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
	})
}

// If the command cannot be executed, the lock is released.
func TestStartFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.refuse = &proc.StartError{Command: "job", Err: errors.New("exec format error")}
		exit, err := r.run()
		r.failed(exit, err, r.job.refuse)
		r.did("0s open", "0s acquire", "0s start fails", "0s release", "0s close")
	})
}

// A release that fails is only a warning, and does not change the exit. It takes no longer than
// ConnectTimeout, or until the lease ends, but at least A.
func TestReleaseFails(t *testing.T) {
	for name, test := range map[string]struct {
		release reply
		limit   time.Duration
		over    time.Duration
	}{
		"refused":         {reply{err: errDown}, seconds(5), seconds(2)},
		"silence":         {reply{silent: true}, seconds(5), seconds(7)},
		"until the end":   {reply{silent: true}, time.Hour, seconds(14.985)},
		"an attempt long": {reply{silent: true}, 1, seconds(4)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.release, r.c.ConnectTimeout = test.release, test.limit
				r.job.begin = runs(seconds(2), 3)
				exit, err := r.run()
				r.ended(exit, err, proc.Exit{Code: 3})
				if got := r.when("close"); got != test.over {
					t.Errorf("over at %v, want %v", got, test.over)
				}
				if got := join(r.kinds()); got != "acquired, started, exited, release_failed" {
					t.Errorf("events: %s", got)
				}
				got := r.logged(slog.LevelWarn)
				if len(got) != 1 || !strings.HasPrefix(got[0], "the lock could not be released; it is free when its lease ends: ") {
					t.Errorf("warnings: %q", got)
				}
			})
		})
	}
}

// A signal that ends us leaves a release the time of an attempt to renew, and no other term
// follows. Until then, others learn that we are well.
func TestSignalDuringARelease(t *testing.T) {
	for name, set := range map[string]func(*rig){
		"last term": func(r *rig) { r.job.begin = runs(seconds(2), 3) },
		"other terms follow": func(r *rig) {
			r.c.Rejoin = true
			r.job.begin = runs(seconds(2), 3)
			r.beats(time.Second, time.Hour)
		},
		"stepping back": func(r *rig) { r.prefers(1, locks.Place{Holder: "vip", Priority: 2}) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.release, r.c.ConnectTimeout = reply{silent: true}, time.Hour
				set(r)
				r.send(seconds(1), syscall.SIGUSR1)
				r.send(seconds(4.5), syscall.SIGTERM)
				_, _ = r.run()
				if got := r.times("close"); len(got) != 1 || got[0] != seconds(6.5) {
					t.Errorf("over at %v, want 6.5s, once", got)
				}
				if got := r.times("waits"); r.c.Rejoin && (len(got) < 5 || got[len(got)-1] != seconds(6)) {
					t.Errorf("heartbeats at %v, want one each second until 6s", got)
				}
			})
		})
	}
}

// After a loss, a release that fails is not a warning.
func TestReleaseFailsAfterALoss(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.release = reply{err: errDown}
		r.at(seconds(4), func() { r.lost <- locks.ErrLost })
		exit, err := r.run()
		r.failed(exit, err, locks.ErrLost)
		r.quiet()
	})
}
