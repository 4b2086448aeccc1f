package guard

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A Client is the proc.Starter of one job, on leaderrun's side.
type Client struct {
	ready chan struct{} // closed when the fields below are set
	err   error         // why there is no guard
	conn  line
	// hello waits until the guard has all its threads. An error says that it has died before
	// that, and so has started nothing.
	hello func() error
	birth uint64 // when the guard was started; see proc.Tree
	child *child
	// entrusted says that the guard acts on our death although it has no job.
	entrusted bool
	// before has our children from before the guard, and when each was started.
	before map[int]uint64

	clock       clock.Clock
	containment Tier
	patience    time.Duration // how long the guard may take to acknowledge a kill
	startsCheck time.Duration // how long the guard may take to start a health check
	pingPause   time.Duration // the pause between pings
	// sweep kills the processes that are left of a job. It reports whether none was left
	// and the guard is dead.
	sweep func(*job) (clean bool)
	spare *proc.Spare // to find the job with, if the guard has failed
}

var _ proc.Starter = (*Client)(nil)

// Begin begins to start a guard. It does not wait, because that takes a millisecond, about as
// long as locking a file. The caller must call Close.
//
// before has children of ours that are not part of the job, as [proc.Children] returned them;
// nil: those that there are now. A list from before all that we start is enough for any guard:
// of the children that we have got since, isNotOfJob excludes our own programs by their ids,
// and all others because they were started before the guard. It can miss one only in the last
// tick (10 ms) before the guard. That is a guard whose job is gone, or a process that a child
// from before has left to us. What such a child leaves to us later is missed as well.
func Begin(before map[int]uint64) *Client {
	cl := &Client{before: before, ready: make(chan struct{}), clock: clock.Boot{}, patience: killPatience, startsCheck: checkPatience, pingPause: pingPause, sweep: (*job).sweep}
	go func() {
		defer close(cl.ready)
		cl.err = cl.launch()
	}()
	return cl
}

// Contain chooses how the job is contained. It must be called before Start. It returns an
// error if that is not possible here, and [proc.ErrForeign] if no containment is. If it is only
// not possible now, Start says so. Contain waits for the guard unless t is "".
func (cl *Client) Contain(t Tier) error {
	if err := proc.SeesUs(); err != nil {
		return err
	}
	if err := t.check(); err != nil || t == "" {
		return err
	}
	<-cl.ready
	cl.containment = t
	if t != Pidns {
		return nil
	}
	cl.Close() // a namespace begins with its first process
	if cl.err = cl.launch(); cl.err != nil && !isShortage(cl.err) {
		return fmt.Errorf("the tier pidns is not available here: %w", cl.err)
	}
	return nil
}

func (cl *Client) launch() (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start the guard process: %w", err)
		}
	}()
	path, err := self()
	if err != nil {
		return err
	}
	ours, theirs, err := socketpair()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(theirs) }()
	c, err := newConn(ours)
	if err != nil {
		_ = unix.Close(ours)
		return err
	}
	cl.conn = c
	files := inherited(theirs)
	files[2], files[theirs] = files[theirs], files[2] // until the guard is ready, we read why it dies
	attr := &syscall.ProcAttr{
		Env:   []string{"GOMAXPROCS=1"}, // the guard computes little
		Files: files,
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	}
	if cl.containment == Pidns {
		namespaced(attr.Sys)
	}
	if cl.before == nil {
		cl.before = proc.Children()
	}
	pid, _, err := syscall.StartProcess(path, []string{role, strconv.Itoa(theirs)}, attr)
	if err != nil {
		cl.conn.close()
		return &os.PathError{Op: "fork/exec", Path: path, Err: threads.Refused(err)}
	}
	cl.hello = sync.OnceValue(c.hello)
	cl.birth = proc.Started(pid)
	cl.child = awaited(pid)
	threads.Reserve(threads.OfCore)
	return nil
}

// Ready waits until the guard has all its threads, or there is none.
func (cl *Client) Ready() {
	if <-cl.ready; cl.err == nil {
		_ = cl.hello() // Start returns the error
	}
}

// socketpair returns two connected sockets. Processes that are started meanwhile do not
// inherit them.
func socketpair() (ours, theirs int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return 0, 0, err
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return fds[0], fds[1], nil
}

// inherited returns the files for a process that inherits the descriptor fd under its number,
// and the descriptors that we were started with, for the job ("9>file"). The kernel passes
// on descriptors with higher numbers.
func inherited(fd int) []uintptr {
	files := []uintptr{0, 1, 2}
	for n := 3; n < fd; n++ {
		flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			files = append(files, math.MaxUint) // closed
			continue
		}
		files = append(files, uintptr(n))
	}
	return append(files, uintptr(fd))
}

// Start implements [proc.Starter]. It waits until the guard's process is started.
func (cl *Client) Start(c proc.Command, killBy clock.Instant) (proc.Job, error) {
	if <-cl.ready; cl.err != nil {
		return nil, cl.err
	}
	proc.AdoptOrphans() // if the guard dies, its children become ours
	var err error
	if cl.spare, err = proc.NewSpare(); err != nil {
		return nil, fmt.Errorf("reserve descriptors to kill with: %w", err)
	}
	j := newJob(cl, c.OnDeath, killBy)
	if err := j.start(c); err != nil {
		return nil, err
	}
	cl.entrusted = false
	return j, nil
}

// visible returns the id of the first process as we see it. A guard in a pid namespace sees
// another id.
func (cl *Client) visible(pid int) int {
	if cl.containment == Pidns {
		return proc.ChildOf(cl.child.pid)
	}
	return pid
}

// Close ends a guard that has no job, or whose job is gone, and waits for its end.
func (cl *Client) Close() {
	cl.spare.Spend()
	if <-cl.ready; cl.err != nil {
		return
	}
	cl.takeBack()
	cl.conn.close()
	cl.child.awaitEnd()
}

// A child is a process that we started and reap.
type child struct {
	pid   int
	end   func()        // kills the process
	ended chan struct{} // closed when the process has been reaped

	mu     sync.Mutex
	reaped bool
}

func awaited(pid int) *child {
	c := &child{pid: pid, ended: make(chan struct{})}
	c.end = func() { _ = unix.Kill(pid, unix.SIGKILL) }
	go func() {
		awaitEnd(pid)
		c.mu.Lock()
		err := error(unix.EINTR)
		for errors.Is(err, unix.EINTR) {
			_, err = unix.Wait4(pid, nil, 0, nil)
		}
		c.reaped = true
		c.mu.Unlock()
		close(c.ended)
	}()
	return c
}

// kill kills the process. Until it is reaped, no other process can have its id.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		c.end()
	}
}
