package runner

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// Hooks are commands that run at the turns of a term. One without a Path is
// none. Those that run under the lease are kept, and ended, as the job is.
type Hooks struct {
	Standby proc.Command // when a campaign begins to wait; the inauguration waits for its end
	Elected proc.Command // under the lease, before the job; if it fails, the lock is given up
	Resign  proc.Command // under the lease, when nothing of the job is left
	Lost    proc.Command // after a loss, when nothing of the job is left
	Timeout time.Duration
}

// The names of hooks, in LEADERRUN_HOOK and in events.
const (
	hookStandby = "standby"
	hookElected = "elected"
	hookResign  = "resign"
	hookLost    = "lost"
)

// inaugurate is the first phase of a term. After an error the job is not
// started.
func (r *run) inaugurate() error {
	r.elected = true
	if r.Hooks.Elected.Path == "" {
		return nil
	}
	exit, err := r.hook(hookElected, r.Hooks.Elected, "the lock was acquired")
	switch {
	case errors.Is(err, locks.ErrLost), errors.As(err, new(*ResignError)):
		return err
	case r.sent != nil:
		return &SignalError{r.sent}
	case err != nil:
		return r.resigned("--on-elected failed: " + err.Error())
	case exit.Status() != 0:
		return r.resigned("--on-elected failed: " + ended(exit))
	}
	return nil
}

// resign is the last phase of a term whose lease is still ours.
func (r *run) resign(exit proc.Exit, err error) {
	if !r.elected || r.Hooks.Resign.Path == "" {
		return
	}
	r.asked = nil // we are about to do that
	exit, err = r.hook(hookResign, r.Hooks.Resign, reasonOf(exit, err))
	r.hookFailed(hookResign, exit, err)
}

// mourn is the end of a term whose lease was lost.
func (r *run) mourn(lost error) {
	if !r.elected || r.Hooks.Lost.Path == "" {
		return
	}
	free := r.withoutLease(r.Signals)
	exit, err := free.hookBy(hookLost, r.Hooks.Lost, r.hookEnv(r.env, hookLost, lost.Error(), ""))
	r.hookFailed(hookLost, exit, err)
	if free.sent != nil {
		r.sent = free.sent
	}
}

// hook runs a hook under the lease. An error says that it was ended, or not
// started.
func (r *run) hook(name string, c proc.Command, reason string) (proc.Exit, error) {
	c.Will = willOf(r.lock)
	return r.hookBy(name, c, r.hookEnv(r.env, name, reason, r.Holder))
}

func (r *run) hookBy(name string, c proc.Command, env []string) (proc.Exit, error) {
	c.Env, c.NoInput = env, true
	job, err := r.start(c)
	if err != nil {
		return proc.Exit{}, err
	}
	r.emit(Event{Kind: EventStarted, Hook: name, PID: job.PID()})
	s := r.supervisor(job)
	s.hook, s.Logger = name, r.Logger.With("hook", name)
	s.limited(r.Hooks.Timeout)
	s.supervise()
	if r.lease == nil {
		r.closing.Wait()
	}
	return s.result()
}

// hookEnv is the environment of a hook: that of the job, why it is run, and who
// leads now, as far as we know.
func (r *run) hookEnv(env []string, name, reason, leader string) []string {
	env = without(env, "LEADERRUN_HOOK", "LEADERRUN_REASON", "LEADERRUN_LEADER")
	return append(env, "LEADERRUN_HOOK="+name, "LEADERRUN_REASON="+locks.Printable(reason), "LEADERRUN_LEADER="+locks.Printable(leader))
}

func (r *run) hookFailed(name string, exit proc.Exit, err error) {
	switch {
	case err != nil:
		r.Logger.Warn("the hook failed", "hook", name, "err", err)
	case exit.Status() != 0:
		r.Logger.Warn("the hook failed", "hook", name, "err", ended(exit))
	}
}

// withoutLease returns what runs a hook that no lease bounds.
func (r *run) withoutLease(signals <-chan os.Signal) *run {
	free := newRun(r.Config)
	free.Signals, free.Alive, free.grant = signals, nil, r.grant
	return free
}

// A standby is the hook that runs beside a campaign that waits.
type standby struct {
	once    sync.Once
	signals chan os.Signal
	done    chan struct{} // closed when nothing of it is left
}

// standBy begins it, once in a campaign. It does not block.
func (r *run) standBy(w locks.Waiting) {
	if r.Hooks.Standby.Path == "" {
		return
	}
	r.standby.once.Do(func() {
		free := r.withoutLease(r.standby.signals)
		env := without(r.Command.Env, "LEADERRUN_SOCKET", "LEADERRUN_TOKEN", "LEADERRUN_LOCK_NAME", "LEADERRUN_HOLDER")
		env = append(env, "LEADERRUN_LOCK_NAME="+r.Lock, "LEADERRUN_HOLDER="+r.Holder)
		env = r.hookEnv(env, hookStandby, (&locks.HeldError{Status: w.Status}).Error(), w.Status.Holder)
		go func() {
			defer close(r.standby.done)
			exit, err := free.hookBy(hookStandby, r.Hooks.Standby, env)
			free.hookFailed(hookStandby, exit, err)
		}()
	})
}

// end returns when nothing of the hook is left. If no term follows it is told to
// end.
func (s *standby) end(elected bool, sig os.Signal) {
	s.once.Do(func() { close(s.done) })
	if !elected {
		s.signals <- sig
	}
	<-s.done
}
