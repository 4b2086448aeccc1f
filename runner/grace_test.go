package runner

import (
	"errors"
	"log/slog"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// draining gives the job ten minutes after a stop that somebody has asked for, which the job
// ignores.
func draining(r *rig) {
	r.c.Timing = timing.New(ttl, 10*time.Minute)
	r.job.on = deaf
}

const notInTime = "killing the job: it has not ended in time after the signal"

// A stop that was asked for has all of --kill-after, while the lease is renewed. The guard knows
// the end of that.
func TestLongGrace(t *testing.T) {
	asked := func(r *rig) { r.at(seconds(1), func() { r.asked <- Request{}.Encode() }) }
	killed := []string{"1s signal TERM", "10m1s kill", "10m1s exit"}
	for name, tt := range map[string]struct {
		setup func(*rig)
		did   []string
		grace time.Duration
		end   time.Duration
		why   error // nil: it died of KILL
	}{
		"signal":    {func(r *rig) { r.send(seconds(1), syscall.SIGTERM) }, killed, 10 * time.Minute, 601 * time.Second, nil},
		"permanent": {func(r *rig) { r.permanent, r.server.ttl = true, 0; r.send(seconds(1), syscall.SIGTERM) }, killed, 10 * time.Minute, 601 * time.Second, nil},
		"resign":    {asked, killed, 10 * time.Minute, 601 * time.Second, new(ResignError)},
		"runtime":   {func(r *rig) { r.c.MaxRuntime = seconds(1) }, killed, 10 * time.Minute, 601 * time.Second, new(TimeoutError)},
		"leftovers": {func(r *rig) { r.job.begin = forks(seconds(1), 0) }, []string{"1s exit", "1s signal TERM", "10m1s kill", "10m1s the rest ends"}, 10 * time.Minute, 601 * time.Second, nil},
		// It does not serve, and another host could.
		"unhealthy": {func(r *rig) { r.health(1); r.c.Health.Retries = 1 }, []string{"10s check", "10s signal TERM", "18s kill", "18s exit"}, seconds(8), seconds(18), new(ResignError)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				draining(r)
				tt.setup(r)
				_, err := r.run()
				switch {
				case tt.why == nil && err != nil,
					isA[*ResignError](tt.why) && !errors.As(err, new(*ResignError)),
					isA[*TimeoutError](tt.why) && !errors.As(err, new(*TimeoutError)):
					t.Errorf("got %v, want %T", err, tt.why)
				}
				r.did(ran(tt.end, tt.did...)...)
				r.warned(notInTime)
				if limit := r.job.limit.Sub(epoch); limit != tt.end {
					t.Errorf("the guard kills at %v, want at %v", limit, tt.end)
				}
				if all := r.shelf.drains; len(all) != 1 || all[0].Token != token || all[0].Kill-all[0].Since != int64(tt.grace/time.Second) {
					t.Errorf("others are told %+v", all)
				}
			})
		})
	}
}

// A lease that is lost, or about to end, ends the job as ever, however long the grace is.
func TestLossInALongGrace(t *testing.T) {
	for name, tt := range map[string]struct {
		setup func(*rig)
		end   time.Duration
		did   []string
	}{
		"taken":   {func(r *rig) { r.at(seconds(4), r.server.evict) }, seconds(6), []string{"2s signal TERM", "6s kill", "6s exit"}},
		"silence": {func(r *rig) { r.renew = silentAfter(1) }, seconds(15.985), []string{"2s signal TERM", "15.985s kill", "15.985s exit"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				draining(r)
				tt.setup(r)
				r.send(seconds(2), syscall.SIGTERM)
				exit, err := r.run()
				r.failed(exit, err, locks.ErrLost)
				r.did(ran(tt.end, tt.did...)...)
				if slices.Contains(r.logged(slog.LevelWarn), notInTime) {
					t.Error("the kill is blamed on the job")
				}
			})
		})
	}
}

// A job that has drained in its grace has its own status, but for --max-runtime.
func TestDrained(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		draining(r)
		r.job.on = tidies(5*time.Minute, 3)
		r.send(seconds(1), syscall.SIGTERM)
		r.send(seconds(2), syscall.SIGINT) // is passed on
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{Code: 3})
		r.did(ran(301*time.Second, "1s signal TERM", "2s signal INT", "5m1s exit")...)
		r.quiet()
	})
}

// With --signal 0 nothing is sent, so there is nothing to wait for. A signal that is passed on has
// its grace.
func TestNoSignal(t *testing.T) {
	for name, tt := range map[string]struct {
		setup func(*rig)
		end   time.Duration
		did   []string
	}{
		"runtime":   {func(r *rig) { r.c.MaxRuntime = seconds(1) }, seconds(1), []string{"1s kill", "1s exit"}},
		"silence":   {func(r *rig) { r.renew = silentAfter(0) }, seconds(12.985), []string{"12.985s kill", "12.985s exit"}},
		"passed on": {func(r *rig) { r.send(seconds(1), syscall.SIGTERM) }, 601 * time.Second, []string{"1s signal TERM", "10m1s kill", "10m1s exit"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				draining(r)
				r.c.Signal = syscall.Signal(0)
				tt.setup(r)
				_, _ = r.run()
				r.did(ran(tt.end, tt.did...)...)
			})
		})
	}
}
