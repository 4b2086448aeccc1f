package runner

import (
	"errors"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
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

// resign is the last phase of a term whose lease is still ours. It returns why
// that is lost in it, or nil.
func (r *run) resign(exit proc.Exit, err error) error {
	if !r.elected || r.Hooks.Resign.Path == "" {
		return r.lostLease()
	}
	r.asked = nil // we are about to do that
	exit, err = r.hook(hookResign, r.Hooks.Resign, reasonOf(exit, err))
	r.hookFailed(hookResign, exit, err)
	return r.loss(err)
}

// mourn is the end of a term whose lease was lost, perhaps the last one.
func (r *run) mourn(lost error, last bool) {
	if !r.elected || r.Hooks.Lost.Path == "" {
		return
	}
	free := r.withoutLease()
	free.Signals = r.Signals
	if !last {
		free.Alive = r.Alive
	}
	exit, err := free.hookBy(hookLost, r.Hooks.Lost, r.hookEnv(r.env, hookLost, lost.Error(), ""))
	r.hookFailed(hookLost, exit, err)
	if free.sent != nil {
		r.sent = free.sent
	}
}

// hook runs a hook under the lease. An error says that it was ended, or not
// started.
func (r *run) hook(name string, c proc.Command, reason string) (proc.Exit, error) {
	c.Will = r.will()
	return r.hookBy(name, c, r.hookEnv(r.env, name, reason, r.Holder))
}

func (r *run) hookBy(name string, c proc.Command, env []string) (proc.Exit, error) {
	c.Env, c.NoInput = env, true
	s, err := r.attend(c, func(s *supervisor) {
		s.hook, s.Logger, s.longest = name, r.Logger.With("hook", name), r.Hooks.Timeout
	})
	if err != nil {
		return proc.Exit{}, err
	}
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
func (r *run) withoutLease() *run {
	free := newRun(r.Config)
	free.Signals, free.Alive, free.lock, free.grant, free.slot = nil, nil, r.lock, r.grant, r.slot
	return free
}

// A standby is the hook that runs beside a campaign that waits.
type standby struct {
	once sync.Once
	quit chan struct{} // closed when it is to end
	done chan struct{} // closed when nothing of it is left
}

var errNoWait = errors.New("there is nothing more to wait for")

// standBy begins it, once in a campaign. It does not block.
func (r *run) standBy(lock locks.Lock, w locks.Waiting) {
	if r.Hooks.Standby.Path == "" {
		return
	}
	r.standby.once.Do(func() {
		free, c := r.withoutLease(), r.Hooks.Standby
		free.quit, free.lock = r.standby.quit, lock
		env := without(r.environment(locks.SecretEnv(lock)), "LEADERRUN_TOKEN", "LEADERRUN_SLOT")
		env = r.hookEnv(env, hookStandby, (&locks.HeldError{Status: w.Status}).Error(), w.Status.Holder)
		go func() {
			defer close(r.standby.done)
			exit, err := free.hookBy(hookStandby, c, env)
			if !errors.Is(err, errNoWait) {
				free.hookFailed(hookStandby, exit, err)
			}
		}()
	})
}

// stoodBy waits, under the lease, until nothing of the hook is left.
func (r *run) stoodBy() error {
	r.standby.once.Do(func() { close(r.standby.done) })
	return r.idleUntil(clock.Never, r.standby.done)
}

// end ends what is left of the hook.
func (s *standby) end() {
	s.once.Do(func() { close(s.done) })
	close(s.quit)
	<-s.done
}
