// Package runner runs a job under a lock: campaign, start, supervise, stop, release. It
// decides when to signal, when to kill and when to release the lock, from the facts that
// leases report. It knows no backend.
//
// One rule is behind all of it: when anyone else can hold the lock, nothing of our job
// is running.
//
// # Terms and their phases
//
// [Run] is a loop over terms; without Rejoin there is one. Six types do the work, and each
// term has new ones, so that nothing of one term is left in the next:
//
//   - A campaign waits for the lock, and makes one attempt after another. The hook Standby
//     runs meanwhile, under no lease. It is ended at the grant.
//   - A term has the lock, the lease and the grant. First, prepare notes what the next holder
//     must know of the previous one, waits for a strict takeover, checks whether the window
//     still needs a run, and runs the hook Elected. Then runJobs runs the job, and again as
//     often as Restart says. At last, handOver waits for MinHold, runs the hook Resign, notes
//     that the term has ended well, and releases the lock. After a loss it only tidies up, and
//     runs the hook Lost.
//   - A task is the job or a hook: a command, and the lease that it runs under.
//   - One supervisor watches one task, and alone has all of its state.
//   - An outcome says how a task or a term ended.
//   - The class of an error says what the error means for what follows. Only classify
//     decides that.
//
// Each phase that waits under the lease does so in idle, which ends at a signal, a request to
// resign, or a loss. So no phase can keep a lock that is not ours, or ignore a signal.
package runner

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// A run is one call of Run.
type run struct {
	Options
	host     Host
	observer Observer

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
func Run(ctx context.Context, h Host, all Observer, o Options) (Exit, error) {
	r := &run{Options: o, host: h, observer: all}
	if r.Clock == nil {
		r.Clock = clock.Boot{}
	}
	if r.Serve == nil {
		r.Serve = socket.Serve
	}
	exit, ran, err := r.terms(ctx)
	if err != nil && !ran && !isA[*OuterError](err) {
		r.reporter().notRun(err)
	}
	return exit, err
}

// terms is Run without the event of a job that was never started; ran says that it was.
func (r *run) terms(ctx context.Context) (exit Exit, ran bool, err error) {
	pause := r.Restart.backoff()
	wait := r.Splay
	if wait > 0 {
		r.Logger.Info("waiting before the campaign", "splay", wait.Round(time.Millisecond))
	}
	for {
		if err := r.pause(ctx, wait); err != nil {
			return Exit{}, ran, err
		}
		r.bound()
		t, err := r.campaign(ctx)
		if err != nil {
			return Exit{}, ran, err
		}
		r.worked = true
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
func (r *run) bound() {
	now := r.Clock.Now()
	switch {
	case r.startBy != 0 && r.Wait != nil:
		left := max(r.startBy.Sub(now), 0)
		r.Wait = &left
	case r.startBy != 0:
	case r.Try:
		r.startBy = now.Add(r.ConnectTimeout)
	case r.Wait != nil:
		r.startBy = now.Add(*r.Wait)
	default:
		r.startBy = clock.Never
	}
}

// pause waits before a campaign. A signal that ends us, or the end of ctx, ends the wait.
func (r *run) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	ctx, stop := r.untilSignal(ctx)
	_ = backoff.Sleep(ctx, d)
	return stop()
}
