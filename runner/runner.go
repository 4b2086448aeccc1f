// Package runner runs a job under a lock: campaign, start, supervise, stop,
// release. It owns the policy, namely when to signal and to kill and when to
// give the lock up, and knows no backend: leases report facts.
//
// The one rule behind all of it: when anyone else can hold the lock, nothing
// of our job is running.
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
	Backend string // what the user knows the backend by; no password
	Store   string // where the lock is kept, for a leaderrun in the job; no password; "" means Backend
	Holder  string // our id
	RunID   string // random, as in locks.Options; "": the lock's record cannot prove that it is ours

	// Open makes a handle for one campaign. It passes the function on as
	// locks.Options.Waiting.
	Open func(context.Context, func(locks.Waiting)) (locks.Lock, error)

	Try            bool           // give up at once if the lock is held
	Wait           *time.Duration // give up after it; nil: never
	ConnectTimeout time.Duration  // with Try, bounds the whole campaign
	Timing         timing.Timing
	Signal         os.Signal // sent first when leadership cannot be kept
	StopOnFailure  bool      // signal at the first failed renewal already
	WaitChildren   bool      // let what the job leaves behind end by itself
	ScrubEnv       bool      // keep the backend's credentials from the job

	// The zero values of these mean that they are not wanted.
	Splay      time.Duration // wait so long before the first campaign
	MinHold    time.Duration // keep the lock so long from the start of the job, at least
	MaxRuntime time.Duration // end a job that runs for longer; 0: never
	Restart    Restart       // what follows the end of the job, under the same lease
	Rejoin     bool          // campaign again when the term has ended, unless a signal ended it; not with Try or Wait
	Hooks      Hooks
	Health     *health.Config // nil: the job is not looked at
	NoResign   bool           // do not resign when asked to
	Once       *Once          // nil: run the job whatever was run before
	Strict     bool           // wait until the lease is over of a holder that did not release
	Priority   *int           // let those go first who wait with a greater one; nil: do not look

	Signals <-chan os.Signal // that we are sent, to be passed on
	// Starter returns a starter of one task, which is closed when the task is gone.
	Starter  func() (proc.Starter, error)
	NotOfJob func(pid int) bool // may be nil; as in proc.OnDeath
	Clock    clock.Clock        // nil: the boot clock
	Logger   *slog.Logger
	Events   func(event.Event) // may be nil; called from several goroutines, and must not block for long
	// Renewed, which may be nil, is called after each attempt to renew a lease under
	// which we lead, by the goroutine that renews. It must not block.
	Renewed       func(keepalive.Renewal)
	Waiting       func(locks.Waiting)     // may be nil; called while the lock is held by others, and must not block
	Outer         func(locks.Status) bool // may be nil; see [OuterError]; must not block
	CampaignEnded func()                  // may be nil; called when a campaign has ended

	// Heartbeat, which may be nil, is called as package heartbeat says. There is one call at a
	// time, and it must not block.
	Heartbeat func(heartbeat.Stage) time.Duration
	// Terminal, which may be nil, is called before each start of the job. It returns nil
	// if there is no terminal.
	Terminal func() Terminal

	// Serve, if not nil, stands in for socket.Serve: the bubbles of testing/synctest
	// have no system calls that block.
	Serve func(func() socket.Answer) (*socket.Server, error)
}

// A SignalError says that a signal ended the run before the job was started.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return fmt.Sprintf("ended by %v before the start", e.Signal) }

// Run campaigns for the lock, runs the job under it, and returns when nothing
// of the job is left and the lock was released. It blocks all that time; ctx
// ends only the campaign. With Rejoin it then begins anew.
//
// Without an error the job ran to its end under the lock, and the Exit is its
// own. Otherwise the error is a *[SignalError], an *[OuterError], a
// *proc.StartError, a *[ResignError], a *[TimeoutError], a *[SkippedError], or
// wraps one of locks' classes: ErrHeld and ErrUnavailable if we did not get the lock,
// ErrLost if the job was stopped because leadership was lost.
func Run(ctx context.Context, c Config) (proc.Exit, error) {
	if c.Clock == nil {
		c.Clock = clock.Boot{}
	}
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
			return proc.Exit{}, err
		}
		t, err := c.campaign(ctx)
		if err != nil {
			return proc.Exit{}, err
		}
		o := t.serve()
		if t.isLast(o) || ctx.Err() != nil {
			return o.exit, o.err
		}
		wait = t.pause(&pause, o)
		t.rejoining(wait, o)
	}
}

// rest waits before a campaign. Only a signal, or the end of ctx, cuts it short.
func (c *Config) rest(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	ctx, stop := c.untilSignal(ctx)
	_ = backoff.Sleep(ctx, d)
	return stop()
}
