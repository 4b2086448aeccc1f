//go:build unix

package proc

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// Group starts each job in a process group of its own.
type Group struct{}

var _ Starter = Group{}

// Start implements [Starter].
func (Group) Start(c Command) (Job, error) {
	adoptOrphans()
	g := &group{exited: make(chan struct{})}
	started := make(chan error)
	go g.run(c, started)
	if err := <-started; err != nil {
		return nil, startError(c.Path, err)
	}
	return g, nil
}

type group struct {
	pid    int // of the first process, and so of the group
	exited chan struct{}

	mu     sync.Mutex // held while signalling, so that the group's id cannot be freed meanwhile
	reaped bool       // the first process was
	exit   Exit       // how it ended
	gone   bool       // the id may belong to others by now
}

// run starts the first process and waits for it, all on one thread: the
// parent-death signal is tied to the thread that forked, and Go ends idle
// threads (golang/go#27505).
func (g *group) run(c Command, started chan<- error) {
	runtime.LockOSThread()
	var err error
	if g.pid, err = execute(c); err != nil {
		started <- err
		return
	}
	started <- nil
	go g.reapOrphans()
	g.wait()
	g.mu.Lock()
	g.reap()
	if !g.reaped { // waiting for our own child cannot fail; do not call it a success
		g.reaped, g.exit = true, Exit{Code: 255}
	}
	g.mu.Unlock()
	close(g.exited)
}

// execute starts a process as execvp(3) would: what the kernel does not know
// how to execute is a script for the shell. It does without package os, which
// would first fork another process to learn whether the kernel's pidfds work:
// that takes half a millisecond.
func execute(c Command) (pid int, err error) {
	attr := &syscall.ProcAttr{Env: c.Env, Files: []uintptr{0, 1, 2}, Sys: sysProcAttr()}
	pid, _, err = syscall.StartProcess(c.Path, c.Args, attr)
	if errors.Is(err, syscall.ENOEXEC) {
		pid, _, err = syscall.StartProcess("/bin/sh", append([]string{"/bin/sh", c.Path}, c.Args[1:]...), attr)
	}
	return pid, err
}

func exitOf(ws syscall.WaitStatus) Exit {
	if ws.Signaled() {
		return Exit{Signal: ws.Signal()}
	}
	return Exit{Code: ws.ExitStatus()}
}

func (g *group) PID() int                { return g.pid }
func (g *group) Exited() <-chan struct{} { return g.exited }
func (g *group) Exit() Exit              { return g.exit }
func (g *group) Kill() error             { return g.Signal(syscall.SIGKILL) }

func (g *group) Signal(sig os.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone {
		return nil
	}
	err := syscall.Kill(-g.pid, sig.(syscall.Signal))
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return os.NewSyscallError("kill", err)
}

// Gone asks whether the group has members. While it has, the kernel gives its
// id to no new process.
func (g *group) Gone() bool {
	select {
	case <-g.exited:
	default:
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reap()
	return g.gone
}

// reap reaps what has ended of the job, as far as it is our child, and asks
// the kernel whether there is more. mu is held: once the first process is
// reaped, the id of an empty group may be given away.
func (g *group) reap() {
	if g.gone {
		return
	}
	for !g.reaped && g.reapOne(g.pid) { // it may have left its group
	}
	for g.reapOne(-g.pid) {
	}
	g.gone = g.reaped && errors.Is(syscall.Kill(-g.pid, 0), syscall.ESRCH)
}

// reapOne reaps one of those that wait4(2) finds under an id, and reports
// whether there may be more.
func (g *group) reapOne(id int) bool {
	var ws syscall.WaitStatus
	pid, err := syscall.Wait4(id, &ws, syscall.WNOHANG, nil)
	if pid == g.pid {
		g.reaped, g.exit = true, exitOf(ws)
	}
	return pid > 0 || err == syscall.EINTR
}
