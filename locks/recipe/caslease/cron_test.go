package caslease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/slots"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/socket"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// A job is a [proc.Job] that takes a while, and its own starter.
type job struct {
	proc.Job
	exited chan struct{}
	ran    func()
	takes  time.Duration
}

func (j *job) Start(proc.Command, clock.Instant) (proc.Job, error) {
	j.ran()
	time.AfterFunc(j.takes, func() { close(j.exited) })
	return j, nil
}

func (j *job) Started() <-chan error {
	c := make(chan error, 1)
	c <- nil
	return c
}

func (*job) Entrust(proc.OnDeath) error        { return nil }
func (j *job) Close()                          {}
func (j *job) Gone() <-chan struct{}           { return j.exited }
func (j *job) PID() int                        { return 1 }
func (j *job) Extend(clock.Instant)            {}
func (j *job) Limit(clock.Instant)             {}
func (j *job) Exited() <-chan struct{}         { return j.exited }
func (j *job) Suspended() <-chan os.Signal     { return nil }
func (j *job) Exit() proc.Exit                 { return proc.Exit{} }
func (j *job) Containment() (tier, why string) { return "", "" }
func (j *job) Overdue() bool                   { return false }
func (j *job) Failed() <-chan error            { return nil }
func (j *job) Kill() error                     { return errors.New("it is not to be killed") }
func (j *job) Signal(os.Signal) error          { return nil }
func (j *job) Stop(os.Signal) error            { return nil }

// A host starts one job.
type host struct {
	open func(context.Context, func(locks.Waiting)) (locks.Lock, error)
	job  *job
}

func (h *host) Open(ctx context.Context, waiting func(locks.Waiting)) (locks.Lock, error) {
	return h.open(ctx, waiting)
}
func (h *host) Starter() (proc.Starter, error) { return h.job, nil }
func (h *host) NotOfJob(int) bool              { return false }
func (h *host) IsOuter(locks.Status) bool      { return false }
func (h *host) Terminal() runner.Terminal      { return nil }

// cron is a run of leaderrun --nonblock, as cron starts it.
func (s *sim) cron(at string, n int, ran func()) error {
	open := func(ctx context.Context, o locks.Options) (locks.Lock, error) {
		return caslease.New(s.client(at, "p"), s.traits(), o), nil
	}
	h := &host{
		open: func(ctx context.Context, waiting func(locks.Waiting)) (locks.Lock, error) {
			o := options(at)
			o.Waiting = waiting
			if n > 0 {
				return slots.Open(ctx, n, open, o)
			}
			return open(ctx, o)
		},
		job: &job{exited: make(chan struct{}), ran: ran, takes: 3 * time.Second},
	}
	_, err := runner.Run(context.Background(), h, runner.Unobserved{}, runner.Options{
		Lock: lockName, Backend: "sim://", Holder: at, Try: true, ConnectTimeout: 5 * time.Second,
		Timing: timing.New(options("").TTL, timing.KillAfter), Signal: syscall.SIGTERM, Clock: clock.Bubble{}, Logger: slog.New(slog.DiscardHandler),
		Serve: func(func() socket.Answer) (*socket.Server, error) { return nil, errors.New("no socket") },
	})
	return err
}

// TestCronTakesOver: the holder's machine is gone. Three hosts have a cron job with --nonblock.
// At the first tick after the end of the lease and the margin one of them runs it, and the
// others say that the lock is held. With a clock that may be wrong, it runs when the lock was
// seen unchanged for as long as a healthy holder may be silent.
func TestCronTakesOver(t *testing.T) {
	t.Parallel()
	ttl := options("").TTL
	over := ttl + ttl/8
	for name, c := range map[string]struct {
		expiry  caslease.Expiry
		trusted bool
		slots   int
		restart bool // of the server: then nobody knows when the dead holder has written
		late    time.Duration
	}{
		"by clock":           {caslease.ByClock, false, 0, false, keepalive.Silence(ttl)},
		"by a trusted clock": {caslease.ByClock, true, 0, false, 0},
		"by stamps":          {caslease.ByStamps, false, 0, false, 0},
		"after a restart":    {caslease.ByClock, false, 0, true, ttl},
		"by watching":        {caslease.ByWatching, false, 0, false, ttl},
		"slots":              {caslease.ByClock, false, 1, false, keepalive.Silence(ttl)},
		"slots by stamps":    {caslease.ByStamps, false, 1, false, 0},
		"slots, a restart":   {caslease.ByClock, false, 1, true, ttl},
		"slots by watching":  {caslease.ByWatching, false, 1, false, ttl},
		"slots by leases":    {caslease.ByLease, false, 1, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSim(c.expiry)
				s.trusted, s.dated = c.trusted, true
				if c.slots > 0 {
					l, err := slots.Open(t.Context(), c.slots, func(_ context.Context, o locks.Options) (locks.Lock, error) {
						return caslease.New(s.client("dead", "p"), s.traits(), o), nil
					}, options("dead"))
					if err != nil {
						t.Fatal(err)
					}
					drive.Hold(t, l)
					_ = l.Close()
				} else {
					drive.Hold(t, at(t, s, options("dead")))
				}
				died := time.Now()
				var mu sync.Mutex
				var ran []time.Duration
				tick := func() (held int) {
					var all sync.WaitGroup
					began := time.Now()
					for host := range 3 {
						all.Go(func() {
							err := s.cron(fmt.Sprint("host", host), c.slots, func() {
								mu.Lock()
								defer mu.Unlock()
								ran = append(ran, time.Since(began))
							})
							mu.Lock()
							defer mu.Unlock()
							if errors.Is(err, locks.ErrHeld) {
								held++
							} else if err != nil {
								t.Error(err)
							}
						})
					}
					all.Wait()
					return held
				}
				time.Sleep(ttl - time.Second)
				if held := tick(); held != 3 || len(ran) > 0 {
					t.Errorf("before the end of the lease: %d runs, %d times held", len(ran), held)
				}
				if c.restart {
					s.started = time.Now()
				}
				time.Sleep(time.Until(died.Add(over + time.Second)))
				if held := tick(); held != 2 || len(ran) != 1 {
					t.Fatalf("after the end of the lease: %d runs, %d times held", len(ran), held)
				}
				if ran[0] < c.late || ran[0] > c.late+2*time.Second {
					t.Errorf("the job was started %v after the tick; want %v", ran[0], c.late)
				}
				time.Sleep(time.Minute)
				if held := tick(); held != 2 || len(ran) != 2 || ran[1] > time.Second {
					t.Errorf("at the next tick: %d runs, %d times held, after %v", len(ran)-1, held, ran[len(ran)-1])
				}
			})
		})
	}
}
