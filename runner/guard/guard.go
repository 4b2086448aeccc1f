//go:build unix

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

// A Guard is leaderrun's side: a proc.Starter of one job.
type Guard struct {
	ready chan struct{} // closed when the rest is set
	err   error         // why there is no guard
	conn  line
	birth uint64 // when it was started, see proc.Tree
	child *child
	// before are our children from before there was a guard, and when each was started.
	before map[int]uint64

	clock       clock.Clock
	containment Containment
	patience    time.Duration // how long it may take to answer that it kills
	startsAside time.Duration // the same, and that it starts something beside the job
	asks        time.Duration // the pause before it is asked again whether it is there
	// sweep kills what is left of a job, and reports whether nothing was; also
	// the guard must be dead for that.
	sweep func(*job) (clean bool)
	spare *proc.Spare // to find the job by, if the guard has died
}

var _ proc.Starter = (*Guard)(nil)

// Begin starts a guard and does not wait for it: that takes a millisecond, as
// long as a lock of the file backend. Close must be called.
func Begin() *Guard {
	g := &Guard{ready: make(chan struct{}), clock: clock.Boot{}, patience: killPatience, startsAside: asidePatience, asks: askPause, sweep: (*job).sweep}
	go func() {
		defer close(g.ready)
		g.err = g.launch()
	}()
	return g
}

// Contain says how the job is to be kept together, before Start. An error says
// that it cannot be done here, [proc.ErrForeign] that nothing can. It waits for the
// guard, if anything but the best there is is asked for.
func (g *Guard) Contain(c Containment) error {
	if err := proc.SeesUs(); err != nil {
		return err
	}
	if err := c.check(); err != nil || c == (Containment{}) {
		return err
	}
	<-g.ready
	g.containment = c
	if c.Use != Pidns {
		return nil
	}
	g.Close() // a namespace begins with its first process
	if g.err = g.launch(); g.err != nil {
		return fmt.Errorf("the tier pidns cannot be had here: %w", g.err)
	}
	return nil
}

func (g *Guard) launch() (err error) {
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
	g.conn = c
	attr := &syscall.ProcAttr{
		Env:   []string{"GOMAXPROCS=1"}, // nothing of it runs for long
		Files: inherited(theirs),
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	}
	if g.containment.Use == Pidns {
		namespaced(attr.Sys)
	}
	g.before = proc.Children()
	pid, _, err := syscall.StartProcess(path, []string{role, strconv.Itoa(theirs)}, attr)
	if err != nil {
		g.conn.close()
		return &os.PathError{Op: "fork/exec", Path: path, Err: err}
	}
	g.birth = proc.Started(pid)
	g.child = awaited(pid)
	threads.Reserve()
	return nil
}

// socketpair returns two connected sockets, which no process gets that is
// started meanwhile.
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

// inherited are the files of a process that is to have a descriptor under its
// own number, and what we have from those who started us, for the job
// ("9>file"). What has a higher number the kernel passes on by itself.
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

// Start implements [proc.Starter]. It waits for the guard's process.
func (g *Guard) Start(c proc.Command, killBy clock.Instant) (proc.Job, error) {
	if <-g.ready; g.err != nil {
		return nil, g.err
	}
	proc.AdoptOrphans() // those of a guard that dies
	var err error
	if g.spare, err = proc.NewSpare(); err != nil {
		return nil, fmt.Errorf("hold descriptors to kill with: %w", err)
	}
	j := newJob(g, c.Will, killBy)
	if err := j.start(c); err != nil {
		return nil, err
	}
	return j, nil
}

// visible returns the id of the first process, which the guard knows by another
// one if it is in a namespace of its own.
func (g *Guard) visible(pid int) int {
	if g.containment.Use == Pidns {
		return proc.ChildOf(g.child.pid)
	}
	return pid
}

// Close ends a guard that has no job, or none any more, and waits for it.
func (g *Guard) Close() {
	g.spare.Spend()
	if <-g.ready; g.err != nil {
		return
	}
	g.conn.close()
	g.child.awaitEnd()
}

// A child is a process that we started and reap.
type child struct {
	pid   int
	end   func()        // kills it
	ended chan struct{} // closed when it has been reaped

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

// kill kills it. Until it is reaped nobody else can have its id.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		c.end()
	}
}
