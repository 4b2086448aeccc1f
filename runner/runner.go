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
	"sync"
	"sync/atomic"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// A Config says what to run and under which lock. Fields without a comment on
// their zero value are required.
type Config struct {
	Command proc.Command
	Lock    string // the lock's name
	Backend string // what the user knows the backend by; no password
	Store   string // tells a leaderrun in the job where our lock is kept; no password; "" means Backend
	Holder  string // our id
	RunID   string // random, as in locks.Options; "": the lock's record cannot prove that it is ours

	// Open makes a handle for one campaign. It passes the function on as
	// locks.Options.Waiting.
	Open func(context.Context, func(locks.Waiting)) (locks.Lock, error)

	Try            bool           // give up at once if the lock is held
	Wait           *time.Duration // give up after it; nil: never
	ConnectTimeout time.Duration  // with Try, bounds the whole campaign
	Timing         Timing
	Signal         os.Signal // sent first when leadership cannot be kept
	StopOnFailure  bool      // signal at the first failed renewal already
	WaitChildren   bool      // let what the job leaves behind end by itself
	ScrubEnv       bool      // keep the backend's credentials from the job

	// What follows makes a command a service, or a line of crontab; its zero value
	// asks for nothing.
	Splay      time.Duration // wait so long before the first campaign
	MinHold    time.Duration // keep the lock so long from the start of the job, at least
	MaxRuntime time.Duration // end a job that runs for longer; 0: never
	Restart    Restart       // what follows the end of the job, under the same lease
	Rejoin     bool          // campaign again when the term has ended, unless a signal ended it
	Hooks      Hooks
	Health     *Health // nil: the job is not looked at
	NoResign   bool    // do not resign when asked to
	Once       *Once   // nil: run the job whatever was run before
	Strict     bool    // wait until the lease is over of a holder that did not release
	Priority   *int    // let those go first who wait with a greater one; nil: do not look

	Signals <-chan os.Signal // what we are sent, to be passed on
	// Starter returns a starter of one job, which is closed when that is gone.
	// There are several if a job is restarted, and for hooks.
	Starter func() (proc.Starter, error)
	Keep    func(pid int) bool // may be nil; as in proc.Will
	Clock   clock.Clock        // nil: the boot clock
	Logger  *slog.Logger
	Events  func(Event) // may be nil; called from several goroutines, and must not block for long
	// Renewed, which may be nil, is told of each attempt to renew a lease under
	// which we lead. It is called from a goroutine that renews, so it must not block.
	Renewed func(keepalive.Renewal)
	Waiting func(locks.Waiting)     // may be nil; called while the lock is held by others, and must not block
	Outer   func(locks.Status) bool // may be nil; see [OuterError]; must not block
	Decided func()                  // may be nil; called when a campaign has ended

	// Alive, which may be nil, is called when a stage begins, and again whenever
	// the time that it returned is over (0: never): for as long as that stage
	// lasts, and whoever could end it is able to. There is one call at a time,
	// and it must not block.
	Alive func(Stage) time.Duration
	// Terminal may be nil, or return nil: there is none. Called before the start.
	Terminal func() Terminal

	// Serve, if not nil, stands in for socket.Serve: the bubbles of testing/synctest
	// have no system calls that block.
	Serve func(func() socket.Answer) (*socket.Server, error)
}

// A SignalError ends a run that was signalled before the job was started.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return fmt.Sprintf("ended by %v before the start", e.Signal) }

// run is one campaign, and the term that it wins.
type run struct {
	Config
	lock     locks.Lock
	lease    *keepalive.Lease // nil: the lock is not ours yet, or not any more
	grant    locks.Grant
	slot     int           // ours, of a lock that has several; else 0
	asked    <-chan []byte // requests to resign
	quit     chan struct{} // closed when what runs, if that is a hook beside a campaign, is to end
	tty      Terminal      // ours, or nil
	detached bool          // a job was started, and there was no terminal
	standby  standby       // the hook that runs beside the campaign
	held     chan struct{} // closed when lease and grant are set and the acquisition was told
	job      atomic.Pointer[proc.Job]
	over     chan struct{} // closed when the run has ended
	failures chan error    // failed renewals of a lease that is held

	server     *listening
	closing    sync.WaitGroup // of starters that have done their work
	env        []string       // of the job
	began      clock.Instant  // when the job was first started; 0: it was not
	marked     bool           // our term is noted beside the lock
	leaving    bool           // the term is about to end: no job is started any more
	elected    bool           // the inauguration was begun
	gaveUp     bool           // the job failed too often
	unkillable bool           // something of the job is left, and we have given up on it
	sent       os.Signal      // the one that ends us; nil: there was none
}

func newRun(c Config) *run {
	return &run{
		Config:   c,
		standby:  standby{quit: make(chan struct{}), done: make(chan struct{})},
		held:     make(chan struct{}),
		over:     make(chan struct{}),
		failures: make(chan error, 1),
	}
}

// Run campaigns for the lock, runs the job under it, and returns when nothing
// of the job is left and the lock was released. It blocks all that time; ctx
// ends only the campaign. With Rejoin it then begins anew.
//
// Without an error the job ran to its end under the lock, and the Exit is its
// own. Otherwise the error is a *[SignalError], an *[OuterError], a
// *proc.StartError, a *[ResignError], a *[TimeoutError], a *[SkippedError], or
// wraps one of locks' classes: ErrHeld and ErrUnavailable if the lock was not had,
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
		if err := newRun(c).rest(ctx, wait); err != nil {
			return proc.Exit{}, err
		}
		r := newRun(c)
		exit, err := r.run(ctx)
		if r.final(err) || ctx.Err() != nil {
			return exit, err
		}
		wait = r.pause(&pause, err)
		r.rejoining(wait, exit, err)
	}
}

// run is one campaign and the term that it wins.
func (r *run) run(ctx context.Context) (proc.Exit, error) {
	defer close(r.over)

	err := r.campaign(ctx)
	if r.Decided != nil {
		r.Decided()
	}
	defer r.standby.end()
	if err != nil {
		return proc.Exit{}, err
	}
	r.server = r.listen()
	defer r.server.close()
	defer func() { _ = r.lock.Close() }() // it was released by then
	defer r.closing.Wait()
	exit, err := r.lead()
	r.handOver(exit, err)
	return exit, err
}

// lead is the term, from the grant until nothing of the job is left.
func (r *run) lead() (proc.Exit, error) {
	r.env = r.environment(locks.SecretEnv(r.lock))
	if err := r.Timing.Gate(r.grant.TTL); err != nil && r.grant.TTL > 0 {
		return proc.Exit{}, err
	}
	if path, err := r.server.path(); err == nil {
		r.env = append(r.env, "LEADERRUN_SOCKET="+path)
	} else {
		r.Logger.Warn("the job cannot use leaderrun check", "err", err)
	}
	for _, prepare := range []func() error{r.stoodBy, r.takeOver, r.openWindow, r.inaugurate} {
		if err := prepare(); err != nil {
			return proc.Exit{}, err
		}
	}
	exit, err := r.execute()
	r.leaving = true
	if err == nil && r.sent == nil && exit.Status() == 0 {
		r.succeeded()
	}
	return exit, err
}
