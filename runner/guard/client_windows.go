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

// A Client is leaderrun's side: a proc.Starter of one job.
//
// There are two Job Objects. The job alone is in one that leaderrun makes and
// the guard inherits: each of them can kill all that is in it, and see when
// nothing is left. The guard is in another one around that, of which only it has
// a handle: if it dies, the system kills the job at once, even if leaderrun is
// frozen. If leaderrun had a handle of that one, too, the system would wait for
// both of them to die.
type Client struct {
	ready  chan struct{} // closed when the rest is set
	err    error         // why there is no guard
	conn   line
	child  *child
	object proc.Object // of the job

	clock       clock.Clock
	containment Containment
	patience    time.Duration // how long it may take to answer that it kills
	startsCheck time.Duration // the same, and that it starts a health check
	asks        time.Duration // the pause before it is asked again whether it is there
}

var _ proc.Starter = (*Client)(nil)

// Begin starts a guard and does not wait for it. Close must be called.
func Begin() *Client {
	cl := &Client{ready: make(chan struct{}), clock: clock.Boot{}, patience: killPatience, startsCheck: checkPatience, asks: askPause}
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
			CreationFlags:              syscall.CREATE_NEW_PROCESS_GROUP, // a signal to ours is not for it
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

// guardEnvironment has what the system itself needs in order to start a
// process, and nothing of the user's. Nothing of the guard runs for long.
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
	return j, nil
}

// visible returns the id of the first process.
func (cl *Client) visible(pid int) int { return pid }

// Close ends a guard that has no job, or none any more, and waits for it.
func (cl *Client) Close() {
	if <-cl.ready; cl.err != nil {
		return
	}
	cl.conn.close()
	cl.child.awaitEnd()
	cl.object.Close()
}

// A child is a process that we started.
type child struct {
	pid   int
	os    *os.Process
	ended chan struct{} // closed when it has ended
}

func awaited(p *os.Process) *child {
	c := &child{pid: p.Pid, os: p, ended: make(chan struct{})}
	go func() {
		_, _ = p.Wait() // it is of no interest how it ended
		close(c.ended)
	}()
	return c
}

func (c *child) kill() { _ = c.os.Kill() }
