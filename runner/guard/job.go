package guard

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A failure says why the guard cannot be relied on. It is a [proc.ErrUnguarded].
type failure string

func (f failure) Error() string        { return string(f) }
func (f failure) Is(target error) bool { return target == proc.ErrUnguarded }

const (
	errDied   failure = "the guard process has died"
	errSilent failure = "the guard process does not answer"
	// errLate is why a job is not started. The guard reports it as errnoLate.
	errLate failure = "the lease was about to end when the job was to be started"
)

// errnoLate is not the number of an error.
const errnoLate = syscall.Errno(0)

// killPatience is how long the guard may take to acknowledge an order to kill. It is less than
// the margin for a busy machine with the shortest lease (133 ms). The time after that is for
// the job to die.
const killPatience = 100 * time.Millisecond

// pingPause is the pause between pings of the guard. The guard has two pauses to answer.
// Without a lease it answers nothing else, and with a long lease not for hours.
const pingPause = 15 * time.Second

// startTimeout is how long the guard may take to answer a start order: the guard itself may
// still be starting.
const startTimeout = time.Minute

// A job is the proc.Job of a guard, on leaderrun's side.
type job struct {
	client  *Client
	onDeath proc.OnDeath
	path    string // of the command
	orders  *orders

	settled   chan struct{} // closed when started receives a value
	started   chan error    // receives nil, or why the job was not started
	exited    chan struct{} // closed when exit is set
	gone      chan struct{} // closed when nothing of the job is left
	suspended chan os.Signal
	failed    chan error

	mu        sync.Mutex
	pid       int // 0: the job is not known to be started
	as        started
	exit      proc.Exit
	ended     bool
	overdue   bool          // the guard has killed the job at its deadline
	unguarded bool          // the guard has failed, and we kill the job
	answered  bool          // the guard has sent something since the last ping
	extended  clock.Instant // the deadline that renewals move
	limit     clock.Instant // the one that they do not move
	wanted    clock.Instant // the deadline that was sent last: the earlier of both
	armed     clock.Instant // the one that was acknowledged last
	kill      *time.Timer   // runs until a kill is acknowledged
	check     *check        // the one that runs, or is being started, or nil
	checks    int64         // how many there have been
}

func newJob(client *Client, onDeath proc.OnDeath, killBy clock.Instant) *job {
	return &job{
		client: client, onDeath: onDeath, orders: newOrders(), extended: killBy, limit: clock.Never, wanted: killBy, armed: killBy,
		settled: make(chan struct{}), started: make(chan error, 1), exited: make(chan struct{}), gone: make(chan struct{}), failed: make(chan error, 1),
		suspended: make(chan os.Signal, 1),
	}
}

// start orders the guard to start the command. It does not wait until that is done. The
// guard knows the deadline before it starts the command.
func (j *job) start(c proc.Command) error {
	if j.client.clock.Now() >= j.wanted {
		return errLate
	}
	switch err := j.client.sendFiles(j.onDeath); {
	case closed(err):
		return cmp.Or(j.client.hello(), proc.ErrGuardDied)
	case err != nil:
		return err
	}
	f := startOrder{killBy: j.wanted, tty: c.Terminal != nil, command: c, message: j.onDeath.Message, remove: j.onDeath.Remove, containment: j.client.containment}.frame()
	if len(f.body) > longest {
		return proc.NewStartError(c.Path, syscall.E2BIG)
	}
	j.path = c.Path
	go j.sendOrders(f)
	go j.watchGuard()
	return nil
}

// sendOrders sends orders to the guard until the guard has died.
func (j *job) sendOrders(start frame) {
	err := j.client.hello()
	if err == nil {
		err = j.client.conn.send(start)
	}
	switch {
	case errors.Is(err, proc.ErrGuardDied), closed(err): // no guard has read the whole frame
		if closed(err) {
			err = proc.ErrGuardDied
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		j.settle(err)
		return
	case err != nil:
		j.fail(errors.Join(errDied, err))
		return
	}
	go j.receive()
	for {
		f, ok := j.orders.next(j.client.child.ended)
		if !ok || j.client.conn.send(f) != nil { // receive fails as well, and handles that
			return
		}
	}
}

// closed reports whether a send failed because the other end is closed.
func closed(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// watchGuard fails the job when the guard does not answer in time.
func (j *job) watchGuard() {
	if !j.awaitSettled() {
		j.fail(errSilent)
		return
	}
	go j.ping()
	j.watchDeadlines()
}

// awaitSettled waits for the guard's answer to the start order, while there is time to kill
// what it starts. It reports whether the guard has answered or died.
func (j *job) awaitSettled() bool {
	timer := clock.NewTimer(j.client.clock, min(j.deadline(), j.client.clock.Now().Add(startTimeout)))
	defer timer.Stop()
	select {
	case <-j.settled:
	case <-j.client.child.ended:
	case <-timer.C:
		return false
	}
	return true
}

// receive handles frames of the guard until the guard ends.
func (j *job) receive() {
	for {
		f, err := j.client.conn.receive()
		if err != nil {
			break
		}
		j.handle(f)
	}
	j.fail(errDied)
}

func (j *job) handle(f frame) {
	n, _ := f.number()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.answered = true
	switch f.kind {
	case kindStarted:
		j.as = f.started()
		j.pid = j.client.visible(j.as.pid)
		j.settle(nil)
	case kindNotContained:
		j.settle(fmt.Errorf("contain the job: %s", f.body))
	case kindFailed:
		j.settle(j.startError(f.failure()))
	case kindDeadline:
		j.armed = clock.Instant(n)
	case kindKilling:
		if j.kill != nil {
			j.kill.Stop()
			j.kill = nil
		}
	case kindSuspended:
		select {
		case j.suspended <- syscall.Signal(n):
		default:
		}
	case kindExited:
		j.overdue = n&overdue != 0
		if n&goneToo != 0 {
			j.proveGone()
		}
		j.end(exitOf(n))
	case kindGone:
		j.overdue = n&overdue != 0
		j.proveGone()
	case kindCheckStarted, kindCheckFailed, kindCheckExited:
		j.handleCheck(f)
	}
	if proc.IsClosed(j.gone) { // the guard does not answer orders now
		j.endCheck(proc.Exit{}, errOver)
	}
}

// startError returns the error of a start that the guard reports as failed.
func (j *job) startError(err error) error {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno) && errno == errnoLate:
		return errLate
	case errors.As(err, &errno):
		return proc.NewStartError(j.path, threads.Refused(errno))
	}
	return err
}

// settle delivers the result of the start once. After an error, there is no job. If the job
// has failed, settle does nothing. The caller holds mu.
func (j *job) settle(err error) {
	if j.unguarded || proc.IsClosed(j.settled) {
		return
	}
	close(j.settled)
	if err != nil {
		j.proveGone()
	}
	j.started <- err
}

// proveGone notes that nothing of the job is left. The caller holds mu.
func (j *job) proveGone() {
	if !proc.IsClosed(j.gone) {
		close(j.gone)
	}
}

// end notes how the first process ended. The caller holds mu.
func (j *job) end(e proc.Exit) {
	if !j.ended {
		j.ended, j.exit = true, e
		close(j.exited)
	}
}

// watchDeadlines fails the job when the guard must have killed it, because the guard has not
// acknowledged a newer deadline in time.
func (j *job) watchDeadlines() {
	for at := j.deadline(); ; {
		timer := clock.NewTimer(j.client.clock, at)
		select {
		case <-timer.C:
		case <-j.client.child.ended:
			timer.Stop()
			return
		}
		if j.unanswered() {
			j.fail(errSilent)
		}
		last := at
		if at = j.deadline(); at == last { // the guard has killed the job, or we have
			return
		}
	}
}

// ping sends pings, and fails the job when the guard has not answered for two pauses. One
// pause is not enough: if we were suspended, we may not have read its answer yet. No pause
// passes while the machine sleeps.
func (j *job) ping() {
	for silent := 0; silent < 2; {
		select {
		case <-time.After(j.client.pingPause):
		case <-j.client.child.ended:
			return
		}
		j.mu.Lock()
		if silent++; j.answered {
			silent = 0
		}
		j.answered = false
		j.order(number(kindDeadline, int64(j.wanted)))
		j.mu.Unlock()
	}
	j.fail(errSilent)
}

func (j *job) deadline() clock.Instant {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.armed
}

func (j *job) unanswered() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.wanted > j.armed && j.client.clock.Now() >= j.armed && !proc.IsClosed(j.gone)
}

// fail notes that the guard has failed, and begins to kill the job unless it is gone.
func (j *job) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if proc.IsClosed(j.gone) || j.unguarded {
		return
	}
	j.unguarded = true
	j.failed <- err
	go j.killUnguarded()
}

// order queues an order for the guard. It does not block.
func (j *job) order(f frame) { j.orders.put(f) }

func (j *job) Started() <-chan error       { return j.started }
func (j *job) Exited() <-chan struct{}     { return j.exited }
func (j *job) Gone() <-chan struct{}       { return j.gone }
func (j *job) Failed() <-chan error        { return j.failed }
func (j *job) Suspended() <-chan os.Signal { return j.suspended }

func (j *job) PID() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pid
}

// Containment implements [proc.Job].
func (j *job) Containment() (tier, why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return string(j.as.tier), j.as.why
}

func (j *job) Exit() proc.Exit {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.exit
}

// Overdue implements [proc.Job].
func (j *job) Overdue() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.overdue
}

func (j *job) Signal(sig os.Signal) error {
	j.order(number(kindSignal, int64(sig.(syscall.Signal))))
	return nil
}

func (j *job) Stop(sig os.Signal) error {
	j.order(number(kindStop, int64(sig.(syscall.Signal))))
	return nil
}

// Kill orders the guard to kill the job. If the guard does not answer soon, we kill it.
func (j *job) Kill() error {
	j.mu.Lock()
	if j.kill == nil && !proc.IsClosed(j.gone) {
		j.kill = time.AfterFunc(j.client.patience, func() { j.fail(errSilent) })
	}
	j.mu.Unlock()
	j.order(frame{kind: kindKill})
	return nil
}

func (j *job) Extend(killBy clock.Instant) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.extended = max(j.extended, killBy)
	j.arm()
}

func (j *job) Limit(killBy clock.Instant) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.limit = min(j.limit, killBy)
	j.arm()
}

// arm orders the guard to kill the job at the deadline, if that has moved. The caller holds mu.
func (j *job) arm() {
	if at := min(j.extended, j.limit); at != j.wanted {
		j.wanted = at
		j.order(number(kindDeadline, int64(at)))
	}
}
