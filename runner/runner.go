// Package runner runs a job under a lock: campaign, start, supervise, stop,
// release. It owns the policy, namely when to signal and to kill and when to
// give the lock up, and knows no backend: leases report facts.
//
// The one rule behind all of it: when anyone else can hold the lock, nothing
// of our job is running.
package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/clock"
	"github.com/leaderrun/leaderrun/locks/keepalive"
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

	Signals <-chan os.Signal // what we are sent, to be passed on
	Starter proc.Starter
	Clock   clock.Clock // nil: the boot clock
	Logger  *slog.Logger
	Events  func(Event)             // may be nil; called from several goroutines, and must not block for long
	Waiting func(locks.Waiting)     // may be nil; called while the lock is held by others, and must not block
	Outer   func(locks.Status) bool // may be nil; see [OuterError]; must not block
	Decided func()                  // may be nil; called when the campaign has ended

	// Alive, which may be nil, is called when a stage begins, and again whenever
	// the time that it returned is over (0: never): for as long as that stage
	// lasts, and whoever could end it is able to. There is one call at a time,
	// and it must not block.
	Alive func(Stage) time.Duration
	// Terminal may be nil, or return nil: there is none. Called before the start.
	Terminal func() Terminal

	// serve is socket.Serve, but in tests: testing/synctest cannot see through
	// a system call.
	serve func(func() socket.Answer) (*socket.Server, error)
}

// A SignalError ends a run that was signalled before the job was started.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return fmt.Sprintf("ended by %v before the start", e.Signal) }

// run is one Run under way.
type run struct {
	Config
	lease    *keepalive.Lease
	grant    locks.Grant
	tty      Terminal      // ours, or nil
	held     chan struct{} // closed when lease and grant are set and the acquisition was told
	job      atomic.Pointer[proc.Job]
	over     chan struct{} // closed when the run has ended
	failures chan error    // failed renewals of a lease that is held
}

// Run campaigns for the lock, runs the job under it, and returns when nothing
// of the job is left and the lock was released. It blocks all that time; ctx
// ends only the campaign.
//
// Without an error the job ran to its end under the lock, and the Exit is its
// own. Otherwise the error is a *[SignalError], an *[OuterError], a
// *proc.StartError, or wraps one of locks' classes: ErrHeld and ErrUnavailable
// if the lock was not had, ErrLost if the job was stopped because leadership was
// lost.
func Run(ctx context.Context, c Config) (proc.Exit, error) {
	if c.Clock == nil {
		c.Clock = clock.Boot{}
	}
	if c.serve == nil {
		c.serve = socket.Serve
	}
	r := &run{Config: c, held: make(chan struct{}), over: make(chan struct{}), failures: make(chan error, 1)}
	server := r.listen()
	defer server.close()
	defer close(r.over)

	lock, err := r.campaign(ctx)
	if r.Decided != nil {
		r.Decided()
	}
	if err != nil {
		return proc.Exit{}, err
	}
	defer func() { _ = lock.Close() }() // it was released by then
	if err := r.Timing.Gate(r.grant.TTL); err != nil && r.grant.TTL > 0 {
		r.release()
		return proc.Exit{}, err
	}

	env := r.environment(locks.SecretEnv(lock))
	if path, err := server.path(); err == nil {
		env = append(env, "LEADERRUN_SOCKET="+path)
	} else {
		r.Logger.Warn("the job cannot use leaderrun check", "err", err)
	}

	job, err := r.start(lock, env)
	if err != nil {
		r.release()
		return proc.Exit{}, err
	}
	s := &supervisor{run: r, job: job}
	s.supervise()
	s.takeBack()
	exit, err := s.result()
	if !s.unkillable {
		r.release()
	}
	return exit, err
}

// start starts the job, if there is still time to stop it again.
func (r *run) start(lock locks.Lock, env []string) (proc.Job, error) {
	if err := r.lease.Err(); err != nil {
		return nil, err
	}
	if now := r.Clock.Now(); now >= r.termAt() {
		return nil, fmt.Errorf("%w: only %s of the lease were left before the start", locks.ErrLost, show(r.expiry().Sub(now)))
	}
	command := r.Command
	command.Env, command.Will = env, willOf(lock)
	command.Terminal = r.offer()
	job, err := r.Starter.Start(command, r.killAt())
	r.offered(job)
	if errors.Is(err, proc.ErrUnguarded) {
		return nil, fmt.Errorf("%w: %w", locks.ErrLost, err)
	}
	if err != nil {
		return nil, err
	}
	r.job.Store(&job)
	job.Extend(r.killAt()) // it may have been renewed meanwhile
	tier, why := job.Containment()
	r.Logger.Info("started", "pid", job.PID(), "containment", tier)
	if why != "" {
		r.Logger.Debug("the job is contained less strongly than it could be", "err", why)
	}
	r.emit(Event{Kind: EventStarted, PID: job.PID()})
	return job, nil
}

// willOf says what becomes of a lock when we die before our job.
func willOf(lock locks.Lock) proc.Will {
	w := proc.Will{Hold: locks.Carrier(lock)}
	w.Helper, w.Release, w.Words = locks.LastWords(lock)
	return w
}

// release gives the lock up. That it may fail is no error: the TTL frees it.
func (r *run) release() {
	if r.Alive != nil {
		r.Alive(StageOver)
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(r.Timing.Attempt, time.Second))
	defer cancel()
	lost := r.lostLease()
	err := r.lease.Release(ctx)
	switch {
	case lost != nil: // it was not ours any more, and this only tidied up
		r.Logger.Debug("release after loss", "err", err)
	case err != nil:
		r.Logger.Warn("the lock was not released and frees itself when its lease ends", "ttl", r.grant.TTL, "err", err)
	default:
		r.Logger.Info("released")
		r.emit(Event{Kind: EventReleased})
	}
}
