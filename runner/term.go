package runner

import (
	"os"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// A term begins with a campaign that was won, and ends when nothing runs under the
// lock any more and the lock is released. Its fields belong to the goroutine that
// runs it, but for those of lease.
type term struct {
	c       *Config
	report  reporter
	lock    locks.Lock
	grant   locks.Grant
	slot    int // ours, of a lock that has several; else 0
	lease   *leased
	standby *standby
	server  func() (*socket.Server, error)
	closing sync.WaitGroup // of starters that have done their work
	env     []string       // of the job

	requests   <-chan []byte // to resign; nil: they are not heard
	began      clock.Instant // when the job was first started; 0: it was not
	detached   bool          // a job was started, and there was no terminal
	marked     bool          // the record says that our term has not ended
	leaving    bool          // the term is about to end: no job is started any more
	elected    bool          // --on-elected had its turn
	gaveUp     bool          // the job failed too often
	unkillable bool          // something of a task is left, and we have given up on it
	sent       os.Signal     // the one that ends us; nil: there was none
}

// newTerm begins a term.
func newTerm(k *campaign, lock locks.Lock, lease *keepalive.Lease) *term {
	t := &term{c: k.c, report: k.report, lock: lock, grant: lease.Grant(), slot: locks.SlotOf(lock), standby: k.standby}
	t.report.about.Token, t.report.about.Slot = t.grant.Token, t.slot
	t.lease = &leased{lease: lease, clock: k.c.Clock, timing: k.c.Timing, report: t.report, failed: make(chan error, 1)}
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
		left := deadline.Sub(t.c.Clock.Now()).Milliseconds()
		e.TTLMS, e.LeftMS, e.Deadline = t.grant.TTL.Milliseconds(), &left, deadline
	}
	t.report.emit(e)
}

// serve runs the whole term. It returns when the lock was released.
func (t *term) serve() outcome {
	defer t.standby.end()
	t.server = t.listen()
	defer t.closeSocket()
	defer func() { _ = t.lock.Close() }() // it was released by then
	defer t.closing.Wait()
	o := t.lead()
	t.handOver(o)
	return o
}

// lead runs the term until nothing of the job is left.
func (t *term) lead() outcome {
	if err := t.prepare(); err != nil {
		return outcome{err: err}
	}
	o := t.runJobs()
	t.leaving = true
	if t.sent == nil && !o.failed() {
		t.succeeded()
	}
	return o
}

// prepare runs the term until the job can be started. After an error it is not started.
func (t *term) prepare() error {
	t.env = t.c.environment(locks.SecretEnv(t.lock), t.grant.Token, t.slot)
	if err := t.c.Timing.Gate(t.grant.TTL); err != nil && t.grant.TTL > 0 {
		return err
	}
	if server, err := t.server(); err == nil {
		t.env = append(t.env, "LEADERRUN_SOCKET="+server.Path())
	} else {
		t.report.log.Warn("the job cannot use leaderrun check", "err", err)
	}
	for _, step := range []func() error{t.awaitStandby, t.awaitFormerLease, t.skipIfDone, t.runElected} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// task returns a task that runs under the lease.
func (t *term) task(command proc.Command, env []string) *task {
	command.Env = env
	command.OnDeath = proc.OnDeath{Hold: locks.Carrier(t.lock), Remove: t.socketFiles(), NotOfJob: t.c.notOfJob(t.lock)}
	command.OnDeath.Release, command.OnDeath.Message = locks.ReleaseMessage(t.lock)
	return &task{
		c: t.c, report: t.report, bound: t.lease, command: command, closing: &t.closing,
		heartbeat: t.c.Heartbeat, stage: heartbeat.Leading, signals: t.c.Signals, detached: t.detached,
		requests: t.requests, resignFor: t.resignFor,
	}
}

// run runs a task under the lease.
func (t *term) run(k *task) outcome {
	o := k.run()
	if t.began == 0 && k.isJob {
		t.began = o.began
	}
	if o.sent != nil {
		t.sent = o.sent
	}
	t.unkillable = t.unkillable || o.unkillable
	return o
}

// notOfJob returns a function that reports whether a child of ours belongs to no job.
func (c *Config) notOfJob(lock locks.Lock) func(pid int) bool {
	return func(pid int) bool { return locks.Keeps(lock, pid) || c.NotOfJob != nil && c.NotOfJob(pid) }
}
