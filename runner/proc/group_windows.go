package proc

import (
	"errors"
	"os"
	"syscall"

	"github.com/leaderrun/leaderrun/locks/clock"
)

// Group starts each job as a process of its own console group. Only the first
// process is killed: Windows knows no process groups in the sense of unix.
type Group struct{}

var _ Starter = Group{}

// Start implements [Starter].
func (Group) Start(c Command, _ clock.Instant) (Job, error) {
	p, err := os.StartProcess(c.Path, c.Args, &os.ProcAttr{
		Env:   c.Env,
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP},
	})
	if err != nil {
		return nil, NewStartError(c.Path, err)
	}
	j := &single{p: p, exited: make(chan struct{})}
	go func() {
		j.exit = Exit{Code: 255}
		if st, err := p.Wait(); err == nil {
			j.exit.Code = st.ExitCode()
		}
		close(j.exited)
	}()
	return j, nil
}

type single struct {
	p      *os.Process
	exit   Exit
	exited chan struct{}
}

func (j *single) PID() int                  { return j.p.Pid }
func (j *single) Stopped() <-chan os.Signal { return nil }
func (j *single) Exited() <-chan struct{}   { return j.exited }
func (j *single) Exit() Exit                { return j.exit }

// Signal ends the process, whatever the signal: Windows has no other.
func (j *single) Signal(os.Signal) error { return j.Kill() }

func (j *single) Stop(os.Signal) error { return j.Kill() }

// Extend does nothing: nobody else can kill the job here.
func (j *single) Extend(clock.Instant) {}

func (j *single) Containment() (tier, why string) { return "process", "" }

func (j *single) Failed() <-chan error { return nil }

func (j *single) Kill() error {
	if err := j.p.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (j *single) Gone() bool {
	select {
	case <-j.exited:
		return true
	default:
		return false
	}
}
