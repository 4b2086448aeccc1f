package guard

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A Client is the proc.Starter of one job, on leaderrun's side.
//
// There are two Job Objects. leaderrun makes the inner one, and the guard inherits it. Only
// the job is in it: each side can kill all its processes, and see when none is left. The
// guard is in the outer one, and only the guard has a handle to it: if the guard dies, the
// system kills the job at once, even if leaderrun is frozen. If leaderrun had a handle to
// the outer object, the system would wait until both of them die.
type Client struct {
	ready  chan struct{} // closed when the fields below are set
	err    error         // why there is no guard
	conn   line
	hello  func() error
	child  *child
	object proc.Object // of the job
	// entrusted says that the guard acts on our death although it has no job.
	entrusted bool

	clock       clock.Clock
	containment Containment
	patience    time.Duration // how long the guard may take to acknowledge a kill
	startsCheck time.Duration // how long the guard may take to start a health check
	pingPause   time.Duration // the pause between pings
}

var _ proc.Starter = (*Client)(nil)

// Begin begins to start a guard. It does not wait. The caller must call Close.
func Begin(map[int]uint64) *Client {
	cl := &Client{hello: func() error { return nil }, ready: make(chan struct{}), clock: clock.Boot{}, patience: killPatience, startsCheck: checkPatience, pingPause: pingPause}
	go func() {
		defer close(cl.ready)
		if err := cl.launch(); err != nil {
			cl.err = fmt.Errorf("start the guard process: %w", err)
		}
	}()
	return cl
}

// Contain does nothing, because there is one tier.
func (cl *Client) Contain(Containment) error { return nil }

func (cl *Client) launch() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	if cl.object, err = proc.NewObject(); err != nil {
		return err
	}
	ours, theirs, err := pipe()
	if err != nil {
		cl.object.Close()
		return err
	}
	defer func() { _ = windows.CloseHandle(theirs) }()
	args := []string{role, strconv.FormatUint(uint64(theirs), 10), strconv.FormatUint(uint64(cl.object), 10)}
	p, err := os.StartProcess(path, args, &os.ProcAttr{
		Env:   guardEnvironment(),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{
			CreationFlags:              syscall.CREATE_NEW_PROCESS_GROUP, // a signal to our group is not for the guard
			AdditionalInheritedHandles: []syscall.Handle{syscall.Handle(theirs), syscall.Handle(cl.object)},
		},
	})
	if err != nil {
		_ = windows.CloseHandle(ours)
		cl.object.Close()
		return err
	}
	c := newConn(ours)
	c.peer = p
	cl.conn, cl.child = c, awaited(p)
	return nil
}

// guardEnvironment returns the variables that the system needs to start a process, and none
// of the user's. The guard computes little, so one processor is enough.
func guardEnvironment() []string {
	env := []string{"GOMAXPROCS=1"}
	for _, name := range []string{"SystemRoot", "ComSpec"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Start implements [proc.Starter]. It waits for the guard.
func (cl *Client) Start(c proc.Command, killBy clock.Instant) (proc.Job, error) {
	if <-cl.ready; cl.err != nil {
		return nil, cl.err
	}
	j := newJob(cl, c.OnDeath, killBy)
	if err := j.start(c); err != nil {
		return nil, err
	}
	cl.entrusted = false
	return j, nil
}

// Ready waits until the guard is started.
func (cl *Client) Ready() { <-cl.ready }

// visible returns the id of the first process.
func (cl *Client) visible(pid int) int { return pid }

// Close ends a guard that has no job, or whose job is gone, and waits for its end.
func (cl *Client) Close() {
	if <-cl.ready; cl.err != nil {
		return
	}
	cl.takeBack()
	cl.conn.close()
	cl.child.awaitEnd()
	cl.object.Close()
}

// A child is a process that we started.
type child struct {
	pid   int
	os    *os.Process
	ended chan struct{} // closed when the process has ended
}

func awaited(p *os.Process) *child {
	c := &child{pid: p.Pid, os: p, ended: make(chan struct{})}
	go func() {
		_, _ = p.Wait() // how it ended does not matter
		close(c.ended)
	}()
	return c
}

func (c *child) kill() { _ = c.os.Kill() }
