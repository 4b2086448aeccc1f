package guard

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A failure is why the guard cannot be relied on. It is a [proc.ErrUnguarded].
type failure string

func (f failure) Error() string        { return string(f) }
func (f failure) Is(target error) bool { return target == proc.ErrUnguarded }

const (
	errDied   failure = "the guard process has died"
	errSilent failure = "the guard process does not answer"
	// errLate is why a job is not started. The guard says so by a number that is
	// no error's.
	errLate failure = "the lease was about to end when the job was to be started"
)

const errnoLate = syscall.Errno(0)

// killPatience is how long the guard may take to answer that it kills. It is less
// than the margin for a late machine with the shortest lease (133 ms): the time after
// that is for the job to die.
const killPatience = 100 * time.Millisecond

// askPause is how often leaderrun asks the guard whether it is there, and it has as
// long to answer, twice. Without a lease nothing else is heard of it, and with a long
// one not for hours.
const askPause = 15 * time.Second

// startTimeout is how long the guard may take to answer to a start: the guard itself may
// still be starting.
const startTimeout = time.Minute

// A job is the proc.Job of a guard.
type job struct {
	client  *Client
	onDeath proc.OnDeath
	path    string // of the command
	orders  *orders

	settled   chan struct{} // closed when started gets something
	started   chan error    // nil, or why it was not
	exited    chan struct{} // closed when exit is set
	suspended chan os.Signal
	failed    chan error

	mu        sync.Mutex
	pid       int // 0: it is not known that it was started
	as        started
	exit      proc.Exit
	ended     bool
	gone      bool
	unguarded bool          // the guard failed, and we kill the job
	heard     bool          // the guard has said something since it was last asked
	wanted    clock.Instant // the latest deadline that was sent
	armed     clock.Instant // the latest that was acknowledged
	kill      *time.Timer   // runs until a kill is acknowledged
	check     *check        // that runs, or is being started; nil: there is none
	checks    int64         // so many there were
}

func newJob(client *Client, onDeath proc.OnDeath, killBy clock.Instant) *job {
	return &job{
		client: client, onDeath: onDeath, orders: newOrders(), wanted: killBy, armed: killBy,
		settled: make(chan struct{}), started: make(chan error, 1), exited: make(chan struct{}), failed: make(chan error, 1),
		suspended: make(chan os.Signal, 1),
	}
}

// start has the guard start the command, and does not wait until it has. The guard is
// armed before it does.
func (j *job) start(c proc.Command) error {
	if j.client.clock.Now() >= j.wanted {
		return errLate
	}
	switch err := j.sendFiles(); {
	case closed(err):
		return proc.ErrGuardDied
	case err != nil:
		return err
	}
	f := task{killBy: j.wanted, tty: c.Terminal != nil, command: c, message: j.onDeath.Message, remove: j.onDeath.Remove, containment: j.client.containment}.frame()
	if len(f.body) > longest {
		return proc.NewStartError(c.Path, syscall.E2BIG)
	}
	j.path = c.Path
	go j.speak(f)
	go j.attend()
	return nil
}

// speak sends the guard its orders until it has died.
func (j *job) speak(start frame) {
	switch err := j.client.conn.send(start); {
	case closed(err): // then no guard has read all of it
		j.mu.Lock()
		defer j.mu.Unlock()
		j.settle(proc.ErrGuardDied)
		return
	case err != nil:
		j.fail(errors.Join(errDied, err))
		return
	}
	go j.listen()
	for {
		f, ok := j.orders.next(j.client.child.ended)
		if !ok || j.client.conn.send(f) != nil { // listen finds out why
			return
		}
	}
}

// closed reports whether a send failed because nobody can read any more.
func closed(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// attend fails the job when the guard does not answer in time.
func (j *job) attend() {
	if !j.isSettled() {
		j.fail(errSilent)
		return
	}
	go j.ask()
	j.watch()
}

// isSettled waits for the guard to say how the start went, as long as there is time
// to kill what it starts, and reports whether it has said so, or died.
func (j *job) isSettled() bool {
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

// sendFiles sends the files that the guard needs if we die.
func (j *job) sendFiles() error {
	var which byte
	var fds []int
	if f := j.onDeath.Hold; f != nil {
		which, fds = which|filesHold, append(fds, descriptor(f))
	}
	if f := j.onDeath.Release; f != nil {
		which, fds = which|filesRelease, append(fds, descriptor(f))
	}
	if which == 0 {
		return nil
	}
	return j.client.conn.sendFiles(frame{kindFiles, []byte{which}}, fds...)
}

// descriptor is a file's, which File.Fd would make blocking.
func descriptor(f *os.File) int {
	n := -1
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { n = int(fd) })
	}
	return n
}

// listen takes what the guard says until it ends.
func (j *job) listen() {
	for {
		f, err := j.client.conn.receive()
		if err != nil {
			break
		}
		j.hear(f)
	}
	j.fail(errDied)
}

func (j *job) hear(f frame) {
	n, _ := f.number()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.heard = true
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
		j.gone = n&goneToo != 0
		j.end(exitOf(n))
	case kindGone:
		j.gone = true
	case kindCheckStarted, kindCheckFailed, kindCheckExited:
		j.hearCheck(f)
	}
	if j.gone { // what is asked of the guard now gets no answer
		j.endCheck(proc.Exit{}, errOver)
	}
}

// startError is what the guard says of a start that failed.
func (j *job) startError(err error) error {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno) && errno == errnoLate:
		return errLate
	case errors.As(err, &errno):
		return proc.NewStartError(j.path, errno)
	}
	return err
}

// settle says once how the start went: after an error, there is no job. It does nothing if
// the job has failed; mu is held.
func (j *job) settle(err error) {
	if j.unguarded || isClosed(j.settled) {
		return
	}
	close(j.settled)
	j.gone = err != nil
	j.started <- err
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// end notes how the first process ended; mu is held.
func (j *job) end(e proc.Exit) {
	if !j.ended {
		j.ended, j.exit = true, e
		close(j.exited)
	}
}

// watch fails the job when the guard has not acknowledged a newer deadline by
// the time that it would kill the job.
func (j *job) watch() {
	for at := j.deadline(); ; {
		timer := clock.NewTimer(j.client.clock, at)
		select {
		case <-timer.C:
		case <-j.client.child.ended:
			timer.Stop()
			return
		}
		if j.overdue() {
			j.fail(errSilent)
		}
		last := at
		if at = j.deadline(); at == last { // the guard has killed the job, or we have
			return
		}
	}
}

// ask fails the job when the guard has not answered for two pauses. One would not do:
// if we were stopped, its answer may not have been read yet. No pause passes while the
// machine is suspended.
func (j *job) ask() {
	for silent := 0; silent < 2; {
		select {
		case <-time.After(j.client.asks):
		case <-j.client.child.ended:
			return
		}
		j.mu.Lock()
		if silent++; j.heard {
			silent = 0
		}
		j.heard = false
		wanted := j.wanted
		j.mu.Unlock()
		j.tell(number(kindDeadline, int64(wanted)))
	}
	j.fail(errSilent)
}

func (j *job) deadline() clock.Instant {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.armed
}

func (j *job) overdue() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.wanted > j.armed && j.client.clock.Now() >= j.armed && !j.gone
}

// fail notes that the guard has failed, and kills the job unless it is gone.
func (j *job) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.gone || j.unguarded {
		return
	}
	j.unguarded = true
	j.failed <- err
	go j.killUnguarded()
}

// tell queues an order for the guard. It does not block.
func (j *job) tell(f frame) { j.orders.put(f) }

func (j *job) Started() <-chan error       { return j.started }
func (j *job) Exited() <-chan struct{}     { return j.exited }
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

func (j *job) Gone() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.gone
}

func (j *job) Signal(sig os.Signal) error {
	j.tell(number(kindSignal, int64(sig.(syscall.Signal))))
	return nil
}

func (j *job) Stop(sig os.Signal) error {
	j.tell(number(kindStop, int64(sig.(syscall.Signal))))
	return nil
}

// Kill has the guard kill the job. If the guard is not quick to answer, we do
// it.
func (j *job) Kill() error {
	j.mu.Lock()
	if j.kill == nil && !j.gone {
		j.kill = time.AfterFunc(j.client.patience, func() { j.fail(errSilent) })
	}
	j.mu.Unlock()
	j.tell(frame{kind: kindKill})
	return nil
}

func (j *job) Extend(killBy clock.Instant) {
	j.mu.Lock()
	newer := killBy > j.wanted
	j.wanted = max(j.wanted, killBy)
	j.mu.Unlock()
	if newer {
		j.tell(number(kindDeadline, int64(killBy)))
	}
}
