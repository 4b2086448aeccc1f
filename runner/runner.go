// Package runner runs a job under a lock: campaign, start, supervise, stop, release. It
// decides when to signal, when to kill and when to release the lock, from the facts that
// leases report. It knows no backend.
//
// One rule is behind all of it: when anyone else can hold the lock, nothing of our job
// is running.
package runner

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/health"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/socket"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// A Config says what to run and under which lock. A field is required unless its comment
// says what its zero value means.
type Config struct {
	Command proc.Command
	Lock    string // the lock's name
	Backend string // the backend's name for users, without a password
	Store   string // identifies where the lock is kept, for a leaderrun in the job, without telling it; "" equals nothing
	Holder  string // our id
	RunID   string // random, as in locks.Options; "": the record of a lock cannot prove that the lock is ours

	// Open makes a handle for one attempt. The function becomes locks.Options.Waiting.
	Open func(context.Context, func(locks.Waiting)) (locks.Lock, error)

	Try            bool           // give up at once if the lock is held
	Wait           *time.Duration // give up after this time; nil: never
	ConnectTimeout time.Duration  // with Try, bounds the whole campaign
	Timing         timing.Timing
	Signal         os.Signal // sent first when leadership cannot be kept
	WaitChildren   bool      // let processes that the first one leaves behind end by themselves
	ScrubEnv       bool      // keep the backend's credentials from the job

	// The zero values of these mean that they are not wanted.
	Splay      time.Duration // wait this long before the first campaign
	MinHold    time.Duration // hold the lock for at least this long from the start of the job
	MaxRuntime time.Duration // end a job that runs for longer
	Restart    Restart       // start the job again under the same lease
	Rejoin     bool          // campaign again when the term has ended, unless a signal ended it; not with Try or Wait
	Hooks      Hooks
	Health     *health.Config // nil: do not check the job
	NoResign   bool           // do not resign when asked to
	Once       *Once          // nil: run the job whatever has run before
	Strict     bool           // if the previous holder did not release, wait until its lease has ended for certain
	Priority   *int           // let waiters with a greater priority lead first; nil: do not look

	Signals <-chan os.Signal // those that we receive
	// Starter returns a starter of one task. It is closed when the task is gone.
	Starter  func() (proc.Starter, error)
	NotOfJob func(pid int) bool // may be nil; as in proc.OnDeath
	Clock    clock.Clock        // nil: the boot clock
	Logger   *slog.Logger
	Events   func(event.Event) // may be nil; called from several goroutines, and must not block for long
	// Renewed, which may be nil, is called after each attempt to renew the lease of a term,
	// by the goroutine that renews. It must not block.
	Renewed       func(keepalive.Renewal)
	Waiting       func(locks.Waiting)     // may be nil; called while the lock is held by others, and must not block
	Outer         func(locks.Status) bool // may be nil; see [OuterError]; must not block
	CampaignEnded func()                  // may be nil; called when a campaign has ended

	// Heartbeat, which may be nil, is called as package heartbeat says, one call at a time.
	// It must not block.
	Heartbeat func(heartbeat.Stage) time.Duration
	// Terminal, which may be nil, is called before each start of the job. It returns nil
	// if there is no terminal.
	Terminal func() Terminal

	// Serve, if not nil, replaces socket.Serve in tests: a bubble of testing/synctest must
	// not block in a system call.
	Serve func(func() socket.Answer) (*socket.Server, error)

	worked  bool          // the lock was ours once, so the settings are right
	startBy clock.Instant // the end of Wait or, with Try, of ConnectTimeout
}

// An Exit says how the job ended.
type Exit struct {
	proc.Exit
	// Received says that it died of a signal that we also received.
	Received bool
	// Typed says that it died of the signal of a key of the terminal, which we and the rest
	// of our process group have not got, because the job had the terminal.
	Typed bool
}

// A SignalError says that a signal ended the run before the job was started.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return fmt.Sprintf("ended by %v before the start", e.Signal) }

// Run campaigns for the lock, runs the job under it, and releases the lock when nothing of
// the job is left. Then it returns or, with Rejoin, begins again. The end of ctx ends only
// a campaign.
//
// If the error is nil, the job ran to its end under the lock, and the Exit is the job's.
// Otherwise the error is a *[SignalError], an *[OuterError], a *proc.StartError, a
// *[ResignError], a *[TimeoutError] or a *[SkippedError], or it wraps a class of package
// locks: ErrHeld or ErrUnavailable if we did not get the lock, ErrLost if the job was
// stopped because leadership was lost; or it is a threads.ErrOut, and nothing was started.
func Run(ctx context.Context, c Config) (Exit, error) {
	if c.Clock == nil {
		c.Clock = clock.Boot{}
	}
	exit, ran, err := c.run(ctx)
	if err != nil && !ran && !isA[*OuterError](err) {
		c.reporter().notRun(err)
	}
	return exit, err
}

// run is Run without the event of a job that was never started; ran says that it was.
func (c *Config) run(ctx context.Context) (exit Exit, ran bool, err error) {
	if c.Serve == nil {
		c.Serve = socket.Serve
	}
	pause := c.Restart.backoff()
	wait := c.Splay
	if wait > 0 {
		c.Logger.Info("waiting before the campaign", "splay", wait.Round(time.Millisecond))
	}
	for {
		if err := c.rest(ctx, wait); err != nil {
			return Exit{}, ran, err
		}
		c.bound()
		t, err := c.campaign(ctx)
		if err != nil {
			return Exit{}, ran, err
		}
		c.worked = true
		o := t.serve()
		ran = ran || t.began != 0
		if t.isLast(o) || ctx.Err() != nil {
			return o.exit, ran, o.err
		}
		wait = t.pause(&pause, o)
		t.rejoining(wait, o)
	}
}

// bound notes when the wait ends that begins with the first campaign. Another campaign has what
// is left of it.
func (c *Config) bound() {
	now := c.Clock.Now()
	switch {
	case c.startBy != 0 && c.Wait != nil:
		left := max(c.startBy.Sub(now), 0)
		c.Wait = &left
	case c.startBy != 0:
	case c.Try:
		c.startBy = now.Add(c.ConnectTimeout)
	case c.Wait != nil:
		c.startBy = now.Add(*c.Wait)
	default:
		c.startBy = clock.Never
	}
}

// rest waits before a campaign. A signal that ends us, or the end of ctx, ends the wait.
func (c *Config) rest(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	ctx, stop := c.untilSignal(ctx)
	_ = backoff.Sleep(ctx, d)
	return stop()
}
