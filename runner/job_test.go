package runner

import (
	"errors"
	"os"
	"path"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// A job is a model of a proc.Job and of its Starter. By default, its only process runs until it
// is signalled.
type job struct {
	r *rig

	begin      func(*job)                 // called at the start; may be nil
	on         func(*job, syscall.Signal) // called at a signal; nil: the job dies
	dying      time.Duration              // from SIGKILL until the job is gone
	immortal   bool                       // SIGKILL does nothing
	stuck      bool                       // SIGKILL does nothing to health checks
	overdue    bool                       // the guard has killed it at its deadline
	failed     chan error                 // may be nil
	refuse     error                      // what Start and the kill return
	untrusting error                      // what Entrust returns
	slow       bool                       // Started receives nothing until answers is called
	signals    error                      // what Signal returns

	checks      func(*check, proc.Command) // called when a health check is started; nil: it exits with 0
	refuseCheck error                      // what CheckHealth returns

	mu        sync.Mutex
	started   *proc.Command
	begun     chan error
	suspended chan os.Signal
	exited    chan struct{}
	gone      chan struct{}
	exit      proc.Exit
	first     bool // the first process is alive
	others    int  // how many others are alive
	check     *check
	kills     int
	killBy    clock.Instant // the latest
	limit     clock.Instant // the earliest
	closed    bool
	entrusted bool
}

const jobPID = 4711

func newJob(r *rig) *job {
	return &job{r: r, limit: clock.Never, begun: make(chan error, 1), exited: make(chan struct{}), gone: make(chan struct{}), suspended: make(chan os.Signal, 1)}
}

// starter is the Host.Starter. All commands behave like the first one.
func (r *rig) starter() (proc.Starter, error) {
	if len(r.jobs) > 0 {
		last := r.job
		r.job = newJob(r)
		r.job.begin, r.job.dying, r.job.checks, r.job.failed = last.begin, last.dying, last.checks, last.failed
	}
	r.jobs = append(r.jobs, r.job)
	return r.job, nil
}

// Entrust implements proc.Starter.
func (j *job) Entrust(proc.OnDeath) error {
	j.r.note("entrust")
	j.entrusted = true
	return j.untrusting
}

func (j *job) Close() {
	if j.started != nil && !proc.IsClosed(j.gone) {
		j.r.t.Error("a starter was closed before its job was gone")
	}
	j.closed = true
}

func (j *job) Start(c proc.Command, killBy clock.Instant) (proc.Job, error) {
	if j.r.starts != nil {
		j.r.starts(j, c)
	}
	var start *proc.StartError
	if errors.Is(j.refuse, proc.ErrUnguarded) || errors.Is(j.refuse, proc.ErrGuardDied) {
		return nil, j.refuse
	}
	if errors.As(j.refuse, &start) {
		j.r.note("start fails")
		return nil, start
	}
	for _, other := range j.r.jobs {
		if other != j && other.entrusted && other.started == nil && !other.closed {
			j.r.t.Errorf("%s is started while another guard would release the lock", c.Path)
		}
	}
	j.mu.Lock()
	j.started, j.first, j.killBy = &c, true, killBy
	j.mu.Unlock()
	j.r.note("start" + j.name())
	if !j.slow {
		j.begun <- nil
	}
	if j.begin != nil {
		j.begin(j)
	}
	return j, nil
}

func (j *job) PID() int {
	if j.slow {
		return 0
	}
	return jobPID
}
func (j *job) Started() <-chan error       { return j.begun }
func (j *job) Suspended() <-chan os.Signal { return j.suspended }
func (j *job) Failed() <-chan error        { return j.failed }

func (j *job) Extend(killBy clock.Instant) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.killBy = max(j.killBy, killBy)
}

func (j *job) Limit(killBy clock.Instant) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.limit = min(j.limit, killBy)
}

func (j *job) Overdue() bool { return j.overdue }

func (j *job) Containment() (tier, why string) { return "model", "" }

func (j *job) Stop(sig os.Signal) error {
	err := j.Signal(sig)
	_ = j.Signal(syscall.SIGCONT)
	return err
}
func (j *job) Exited() <-chan struct{} { return j.exited }

func (j *job) Exit() proc.Exit {
	select {
	case <-j.exited:
	default:
		j.r.t.Error("Exit was asked for before Exited was closed")
	}
	return j.exit
}

func (j *job) Signal(sig os.Signal) error {
	s := sig.(syscall.Signal)
	if s != syscall.SIGCONT {
		j.r.note("signal " + signals.Name(s))
	}
	if j.on != nil {
		j.on(j, s)
	} else if signals.Ending(s) {
		j.die(s)
	}
	return j.signals
}

func (j *job) Kill() error {
	j.mu.Lock()
	j.kills++
	n, immortal := j.kills, j.immortal
	j.mu.Unlock()
	if n == 1 {
		j.r.note("kill")
	}
	switch {
	case immortal:
	case j.dying > 0:
		time.AfterFunc(j.dying, func() { j.die(syscall.SIGKILL) })
	default:
		j.die(syscall.SIGKILL)
	}
	return j.refuse
}

func (j *job) Gone() <-chan struct{} { return j.gone }

// left is called when something of the job has ended. The caller holds mu.
func (j *job) left() {
	if !j.first && j.others == 0 && j.check == nil && !proc.IsClosed(j.gone) {
		close(j.gone)
	}
}

// answers delivers the result of a slow start. After an error, there is no job.
func (j *job) answers(err error) {
	j.mu.Lock()
	j.slow = false
	if err != nil {
		j.started, j.first = nil, false
	}
	j.mu.Unlock()
	j.begun <- err
}

// die ends all processes of the job.
func (j *job) die(sig syscall.Signal) {
	j.end(proc.Exit{Signal: sig})
	j.leave(0)
	j.mu.Lock()
	a := j.check
	j.mu.Unlock()
	if a != nil {
		a.end(proc.Exit{Signal: sig})
	}
}

// quit ends the first process.
func (j *job) quit(code int) { j.end(proc.Exit{Code: code}) }

func (j *job) end(e proc.Exit) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.first {
		return
	}
	j.checked()
	j.first, j.exit = false, e
	j.left()
	j.r.note("exit" + j.name())
	close(j.exited)
}

// leave sets how many processes are alive, not counting the first.
func (j *job) leave(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.checked()
	if j.others > 0 && n == 0 {
		j.r.note("the rest ends")
	}
	j.others = n
	j.left()
}

// name returns the name in the trace: "" for the job, " elected" for that hook.
func (j *job) name() string {
	if name := path.Base(j.started.Path); name != "job" {
		return " " + name
	}
	return ""
}

// free reports whether the job is a hook that runs under no lease.
func (j *job) free() bool {
	return slices.Contains(j.started.Env, "LEADERRUN_HOOK=lost") || slices.Contains(j.started.Env, "LEADERRUN_HOOK=standby")
}

// checked is the oracle. A process that ends now was running until now, and meanwhile nobody
// else may have been able to get the lock.
func (j *job) checked() {
	if (j.first || j.others > 0 || j.check != nil) && !j.r.outlived && !j.free() && j.r.server.free() {
		j.r.t.Errorf("%v: the job runs, but somebody else can hold the lock", j.r.now())
	}
}

// Reactions to signals.

// deaf ignores every signal.
func deaf(*job, syscall.Signal) {}

// tidies exits with a code when d has passed after a signal to end.
func tidies(d time.Duration, code int) func(*job, syscall.Signal) {
	return func(j *job, sig syscall.Signal) {
		if signals.Ending(sig) {
			time.AfterFunc(d, func() { j.quit(code) })
		}
	}
}

// runs is a job that ends by itself.
func runs(d time.Duration, code int) func(*job) {
	return func(j *job) { time.AfterFunc(d, func() { j.quit(code) }) }
}

// forks is a job whose first process ends by itself and leaves one behind.
func forks(d time.Duration, code int) func(*job) {
	return func(j *job) {
		j.leave(1)
		runs(d, code)(j)
	}
}

var (
	_ proc.Job     = (*job)(nil)
	_ proc.Starter = (*job)(nil)
)
