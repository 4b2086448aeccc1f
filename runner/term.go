package runner

import (
	"os"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// A term begins with a campaign that was won. It ends when nothing runs under the lock and
// the lock is released. Its fields, except those of lease, belong to the goroutine that
// runs the term.
type term struct {
	r           *run
	report      reporter
	lock        locks.Lock
	grant       locks.Grant
	slot        int // 0: the lock has no slots
	lease       *lease
	standby     *standby
	server      func() (*socket.Server, error)
	closeSocket func()
	closing     sync.WaitGroup // waits for starters, and the socket, to be closed
	noting      sync.WaitGroup // waits for draining
	env         []string       // of the job

	requests   <-chan []byte // to resign; nil: requests are ignored
	began      clock.Instant // when the job was first started; 0: it was not started
	roomBy     clock.Instant // when a start that the machine has no room for is given up; 0: there was none
	detached   bool          // a job was started, and there was no terminal
	marked     bool          // the record says that our term has not ended
	leaving    bool          // the term is ending, and starts no other job
	elected    bool          // --on-elected had its turn: the other hooks may run
	attempted  bool          // the attempt of a run was noted, see noteAttempt
	gaveUp     bool          // the job failed too often
	alone      bool          // nobody waits for the lock, as far as the backend knows
	status     string        // the exit status of the job; "" if it is unknown
	unkillable bool          // processes of a task are left that we could not kill
	former     former        // the previous holder, if Strict
	keeps      bool          // the lock must not be released: see noteFormer
	entrusted  proc.Starter  // its guard has the lock released if we die: see entrust; or nil
	sent       os.Signal     // the signal that ends us, or nil
	ignored    bool          // an invalid request was logged
	refused    int           // requests to resign that were refused
}

// newTerm begins a term.
func newTerm(cp *campaign, lock locks.Lock, kept *keepalive.Lease) *term {
	t := &term{r: cp.r, report: cp.report, lock: lock, grant: kept.Grant(), slot: locks.SlotOf(lock), standby: cp.standby}
	t.report.about.Token, t.report.about.Slot = t.grant.Token, t.slot
	t.lease = newLease(kept, cp.r, t.report)
	if a, ok := lock.(locks.Asker); ok {
		t.requests = a.Asked()
	}
	return t
}

// acquired reports that the lock is ours.
func (t *term) acquired() {
	log := t.report.log
	if t.slot > 0 {
		log = log.With("slot", t.slot)
	}
	log.Info("acquired", "token", t.grant.Token, "ttl", t.grant.TTL)
	e := event.Event{Kind: event.Acquired}
	if deadline := t.lease.expiry(); deadline != clock.Never {
		left := deadline.Sub(t.r.Clock.Now()).Milliseconds()
		e.TTLMS, e.LeftMS, e.Deadline = t.grant.TTL.Milliseconds(), &left, deadline
	}
	t.report.emit(e)
}

// serve runs the whole term. It returns after the lock was released.
func (t *term) serve() outcome {
	defer t.standby.end()
	t.server = t.listen()
	t.closeSocket = sync.OnceFunc(t.removeSocket)
	defer t.closeSocket()
	defer func() { _ = t.lock.Close() }() // it was released by then
	defer t.closing.Wait()
	o := t.lead()
	o.err = t.takenAway(o.err)
	t.handOver(o)
	t.dismiss()
	return o
}

// lead runs the term until nothing of the job is left.
func (t *term) lead() outcome {
	err := t.prepare()
	o := outcome{err: err}
	if err == nil {
		o = t.runJobs()
	}
	t.leaving = true
	t.noting.Wait()
	t.takeBackAttempt(o)
	if t.sent == nil && !o.failed() {
		t.succeeded()
	}
	return o
}

// prepare runs the term until the job can be started. If it returns an error, the job is
// not started.
func (t *term) prepare() error {
	t.env = t.r.environment(locks.SecretEnv(t.lock), t.grant.Token, t.slot)
	if err := t.noteFormer(); err != nil {
		return err
	}
	if err := t.r.Timing.Gate(t.grant.TTL); err != nil && t.grant.TTL > 0 {
		return err
	}
	if t.grant.TTL > 0 && t.lease.timing.Grace == 0 {
		t.report.log.Info("the lease leaves no time between signal and kill: if renewals fail, the job is killed without a signal")
	}
	if server, err := t.server(); err == nil {
		t.env = append(t.env, "LEADERRUN_SOCKET="+socket.Join(server.Address(), t.r.around()))
	} else {
		t.report.log.Warn("the job cannot use leaderrun check", "err", err)
	}
	for _, step := range []func() error{t.awaitStandby, t.awaitFormerLease, t.skipIfDone, t.runElected, t.noteAttempt} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// task returns a task that runs under the lease.
func (t *term) task(command proc.Command, env []string) *task {
	command.Env = env
	command.OnDeath = t.onDeath()
	return &task{
		r: t.r, report: t.report, lease: t.lease, command: command, closing: &t.closing, starter: t.starter,
		heartbeat: t.r.observer.Heartbeat, stage: heartbeat.Leading, signals: t.r.Signals, detached: t.detached,
		requests: t.requests, resignFor: t.resignFor, room: t.room,
	}
}

// room is task.room. For as long as the machine is out of tasks, others may have room: we hold
// the lock for a third of the ttl at most, and no longer than we may wait.
func (t *term) room(pause time.Duration) (again bool, err error) {
	now := t.r.Clock.Now()
	if t.roomBy == 0 {
		t.roomBy = min(now.Add(t.r.Timing.TTL/3), t.r.startBy)
	}
	if now >= t.roomBy {
		return false, nil
	}
	return true, t.idle(min(pause, t.roomBy.Sub(now)))
}

// starved reports whether nothing ran in a term because the machine is out of tasks.
func (t *term) starved(o outcome) bool { return o.class().out && t.began == 0 }

// run runs a task under the lease.
func (t *term) run(k *task) outcome {
	o := k.run()
	if t.began == 0 && k.isJob {
		t.began = o.began
	}
	if o.began != 0 {
		t.roomBy = 0
	}
	if k.isJob {
		t.status = o.status
	}
	if o.sent != nil {
		t.sent = o.sent
	}
	t.unkillable = t.unkillable || o.unkillable
	return o
}

// notOfJob returns a function that reports whether a child of ours belongs to no job.
func (r *run) notOfJob(lock locks.Lock) func(pid int) bool {
	return func(pid int) bool { return locks.Keeps(lock, pid) || r.host.NotOfJob(pid) }
}
