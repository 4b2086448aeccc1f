package runner

import (
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// Before the first task of a term, there may be a wait in which the lock is ours. If we were
// killed in it, the lock would be held until its lease ends, because only the guard of a task
// has it released. So the guard that will start that task is told before the wait what it is
// to do if we die. That is safe, because nothing has been started under the lock, and the guard
// learns of our death only after it has read all that we have sent. We do so only before long
// waits: for the lease of a previous holder, and for the end of a hook. Other runs start the job
// at once, and would start it later if they waited for the guard here. In the pause of a machine
// that is out of tasks, no guard could be started.

// onDeath returns what a guard does about the lock if we die.
func (t *term) onDeath() proc.OnDeath {
	d := proc.OnDeath{Hold: locks.Carrier(t.lock), Remove: t.socketFiles(), NotOfJob: t.r.notOfJob(t.lock)}
	d.Release, d.Message = locks.ReleaseMessage(t.lock)
	return d
}

// entrust has the guard of the next task do what onDeath says if we die before that task. If the
// guard fails, the wait has no guard, and the next task gets another.
func (t *term) entrust() {
	if t.entrusted != nil {
		return
	}
	starter, err := t.r.host.Starter()
	if err == nil {
		if err = starter.Entrust(t.onDeath()); err != nil {
			starter.Close()
		}
	}
	if err != nil {
		t.report.log.Debug("if leaderrun is killed in this wait, the lock is held until its lease ends", "err", err)
		return
	}
	t.entrusted = starter
	t.report.log.Debug("if leaderrun is killed in this wait, its guard has the lock released")
}

// starter returns the starter of the next task under the lease: the entrusted one, if there is
// one, so that the lock is not released while that task runs under another guard.
func (t *term) starter() (proc.Starter, error) {
	if s := t.entrusted; s != nil {
		t.entrusted = nil
		return s, nil
	}
	return t.r.host.Starter()
}

// dismiss ends the entrusted guard, if it has started nothing. The guard does not release the
// lock then.
func (t *term) dismiss() {
	if t.entrusted != nil {
		t.entrusted.Close()
		t.entrusted = nil
	}
}
