package runner

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// Hooks are commands that run when a campaign waits, and when a term begins or ends. A hook
// without a Path does not run. Hooks under the lease may change what only the leader may
// change, so they are guarded and ended like the job, and the next step waits for the proof that
// nothing of them is left. A hook under no lease has a guard and no deadline.
type Hooks struct {
	Standby proc.Command // when a campaign begins to wait; it is ended at the grant
	Elected proc.Command // under the lease, before the job; if it fails, we resign
	Resign  proc.Command // under the lease, when nothing of the job is left
	Lost    proc.Command // after a loss, when nothing of the job is left
	Timeout time.Duration
}

// runElected is the last step before the job. If it returns an error, the job is not started.
func (t *term) runElected() error {
	t.elected = true
	if t.r.Hooks.Elected.Path == "" {
		return nil
	}
	o := t.runHook("elected", t.r.Hooks.Elected, "the lock was acquired")
	switch cl := o.class(); {
	case cl.lost, cl.word == event.ClassResigned, t.starved(o):
		return o.err
	case t.sent != nil:
		return &SignalError{t.sent}
	case errors.Is(o.err, syscall.E2BIG): // so is the job's environment, on any host
		return fmt.Errorf("--on-elected: %w", o.err)
	case o.failed():
		return t.report.resigned(event.ClassFailed, "--on-elected failed: "+o.failure().Error())
	}
	return nil
}

// runResign is the last step of a term whose lease is still ours. If the lease is lost
// meanwhile, it returns why.
func (t *term) runResign(o outcome) error {
	if !t.elected || t.r.Hooks.Resign.Path == "" {
		return t.lease.lost()
	}
	t.requests = nil // the term is ending already
	o = t.runHook("resign", t.r.Hooks.Resign, o.reason())
	t.report.hookEnded("resign", o)
	return t.loss(o)
}

// runLost is the last step of a term whose lease was lost; last says that no other term
// follows.
func (t *term) runLost(lost error, last bool) {
	if !t.elected || t.r.Hooks.Lost.Path == "" {
		return
	}
	k := newHook(t.r, t.report, t.lock, "lost", t.r.Hooks.Lost, hookEnv(t.withStatus(), "lost", lost.Error(), ""))
	k.signals = t.r.Signals
	if !last {
		k.heartbeat = t.r.observer.Heartbeat
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
	k := t.task(command, hookEnv(t.withStatus(), name, reason, t.r.Holder))
	k.becomeHook(name)
	return t.run(k)
}

// withStatus returns the environment of the job, with its exit status if it has run.
func (t *term) withStatus() []string {
	if t.status == "" {
		return t.env
	}
	return with(t.env, "LEADERRUN_EXIT_STATUS="+t.status)
}

// newHook returns a hook that runs under no lease.
func newHook(r *run, report reporter, lock locks.Lock, name string, command proc.Command, env []string) *task {
	command.Env, command.OnDeath.NotOfJob = env, r.notOfJob(lock)
	k := &task{r: r, report: report, lease: new(lease), command: command, closing: new(sync.WaitGroup), starter: r.host.Starter, stage: heartbeat.Waiting}
	k.becomeHook(name)
	return k
}

func (k *task) becomeHook(name string) {
	k.report, k.command.NoInput, k.longest = k.report.ofHook(name), true, k.r.Hooks.Timeout
}

// hookEnv returns the environment of a hook. It is that of the job, with the hook's name,
// the reason for which the hook runs, and the leader as far as we know.
func hookEnv(env []string, name, reason, leader string) []string {
	return with(env, "LEADERRUN_HOOK="+name, "LEADERRUN_REASON="+locks.Printable(reason), "LEADERRUN_LEADER="+locks.Printable(leader))
}

// hookEnded logs the failure of a hook.
func (r reporter) hookEnded(name string, o outcome) {
	if o.failed() {
		r.log.Warn("the hook failed", "hook", name, "err", o.failure())
	}
}

// A standby is the hook that runs while a campaign waits. It runs once at most.
type standby struct {
	once sync.Once     // starts the hook, or bars it
	stop sync.Once     // closes quit
	quit chan struct{} // closed when the hook must end
	done chan struct{} // closed when nothing of the hook is left, or it is barred
}

func newStandby() *standby {
	return &standby{quit: make(chan struct{}), done: make(chan struct{})}
}

// over bars the hook, if it was not started, or begins to end it.
func (s *standby) over() {
	s.once.Do(func() { close(s.done) })
	s.stop.Do(func() { close(s.quit) })
}

// end bars the hook, or ends it and waits until nothing of it is left.
func (s *standby) end() {
	s.over()
	<-s.done
}

var errNoWait = errors.New("the campaign has ended")

// runStandby starts the hook, unless it was started or barred. It does not block.
func (cp *campaign) runStandby(lock locks.Lock, w locks.Waiting) {
	if cp.r.Hooks.Standby.Path == "" {
		return
	}
	cp.standby.once.Do(func() {
		env := without(cp.r.environment(locks.SecretEnv(lock), 0, 0), "LEADERRUN_TOKEN", "LEADERRUN_SLOT")
		env = hookEnv(env, "standby", (&locks.HeldError{Status: w.Status}).Error(), w.Status.Holder)
		hook := newHook(cp.r, cp.report, lock, "standby", cp.r.Hooks.Standby, env)
		hook.quit = cp.standby.quit
		go func() {
			defer close(cp.standby.done)
			o := hook.run()
			hook.closing.Wait()
			if !errors.Is(o.err, errNoWait) {
				cp.report.hookEnded("standby", o)
			}
		}()
	})
}

// awaitStandby ends the hook, and waits, under the lease, until nothing of it is left.
func (t *term) awaitStandby() error {
	t.standby.over()
	select {
	case <-t.standby.done:
	default:
		t.entrust()
	}
	return t.idleUntil(clock.Never, t.standby.done)
}
