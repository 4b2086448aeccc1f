package runner

import (
	"errors"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// Hooks are commands that run when a term begins, ends or is waited for. One without a
// Path is not run. Those under the lease are guarded and ended as the job is.
type Hooks struct {
	Standby proc.Command // when a campaign begins to wait; Elected waits for its end
	Elected proc.Command // under the lease, before the job; if it fails, the lock is given up
	Resign  proc.Command // under the lease, when nothing of the job is left
	Lost    proc.Command // after a loss, when nothing of the job is left
	Timeout time.Duration
}

// runElected is the last step before the job. After an error the job is not started.
func (t *term) runElected() error {
	t.elected = true
	if t.c.Hooks.Elected.Path == "" {
		return nil
	}
	o := t.runHook("elected", t.c.Hooks.Elected, "the lock was acquired")
	switch c := o.class(); {
	case c.lost, c.word == event.ClassResigned:
		return o.err
	case t.sent != nil:
		return &SignalError{t.sent}
	case o.failed():
		return t.report.resigned("--on-elected failed: " + o.failure().Error())
	}
	return nil
}

// runResign is the last step of a term whose lease is still ours. It returns why
// the lease was lost in it, or nil.
func (t *term) runResign(o outcome) error {
	if !t.elected || t.c.Hooks.Resign.Path == "" {
		return t.lease.lost()
	}
	t.requests = nil // we are resigning already
	o = t.runHook("resign", t.c.Hooks.Resign, o.reason())
	t.report.hookEnded("resign", o)
	return t.loss(o)
}

// runLost is the last step of a term whose lease was lost, perhaps of the last term.
func (t *term) runLost(lost error, last bool) {
	if !t.elected || t.c.Hooks.Lost.Path == "" {
		return
	}
	k := unleasedHook(t.c, t.report, t.lock, "lost", t.c.Hooks.Lost, hookEnv(t.env, "lost", lost.Error(), ""))
	k.signals = t.c.Signals
	if !last {
		k.heartbeat = t.c.Heartbeat
	}
	o := k.run()
	k.closing.Wait()
	t.report.hookEnded("lost", o)
	if o.sent != nil {
		t.sent = o.sent
	}
}

// runHook runs a hook under the lease.
func (t *term) runHook(name string, command proc.Command, reason string) outcome {
	k := t.task(command, hookEnv(t.env, name, reason, t.c.Holder))
	k.becomeHook(name)
	return t.run(k)
}

// unleasedHook returns a hook that no lease bounds.
func unleasedHook(c *Config, report reporter, lock locks.Lock, name string, command proc.Command, env []string) *task {
	command.Env, command.OnDeath.NotOfJob = env, c.notOfJob(lock)
	k := &task{c: c, report: report, bound: unleased{}, command: command, closing: new(sync.WaitGroup), stage: heartbeat.Waiting}
	k.becomeHook(name)
	return k
}

func (k *task) becomeHook(name string) {
	k.report, k.command.NoInput, k.longest = k.report.ofHook(name), true, k.c.Hooks.Timeout
}

// hookEnv returns the environment of a hook: that of the job, why it is run, and who
// leads now, as far as we know.
func hookEnv(env []string, name, reason, leader string) []string {
	env = without(env, "LEADERRUN_HOOK", "LEADERRUN_REASON", "LEADERRUN_LEADER")
	return append(env, "LEADERRUN_HOOK="+name, "LEADERRUN_REASON="+locks.Printable(reason), "LEADERRUN_LEADER="+locks.Printable(leader))
}

// hookEnded logs it if a hook did not succeed.
func (r reporter) hookEnded(name string, o outcome) {
	if o.failed() {
		r.log.Warn("the hook failed", "hook", name, "err", o.failure())
	}
}

// A standby is the hook that runs while a campaign waits.
type standby struct {
	once sync.Once
	quit chan struct{} // closed when it is to end
	done chan struct{} // closed when nothing of it is left
}

var errNoWait = errors.New("there is nothing more to wait for")

// runStandby begins it, once in a campaign. It does not block.
func (k *campaign) runStandby(lock locks.Lock, w locks.Waiting) {
	if k.c.Hooks.Standby.Path == "" {
		return
	}
	k.standby.once.Do(func() {
		env := without(k.c.environment(locks.SecretEnv(lock), 0, 0), "LEADERRUN_TOKEN", "LEADERRUN_SLOT")
		env = hookEnv(env, "standby", (&locks.HeldError{Status: w.Status}).Error(), w.Status.Holder)
		hook := unleasedHook(k.c, k.report, lock, "standby", k.c.Hooks.Standby, env)
		hook.quit = k.standby.quit
		go func() {
			defer close(k.standby.done)
			o := hook.run()
			hook.closing.Wait()
			if !errors.Is(o.err, errNoWait) {
				k.report.hookEnded("standby", o)
			}
		}()
	})
}

// awaitStandby waits, under the lease, until nothing of the hook is left.
func (t *term) awaitStandby() error {
	t.standby.once.Do(func() { close(t.standby.done) })
	return t.idleUntil(clock.Never, t.standby.done)
}

// end ends what is left of the hook.
func (s *standby) end() {
	s.once.Do(func() { close(s.done) })
	close(s.quit)
	<-s.done
}
