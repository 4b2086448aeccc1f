package proc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/leaderrun/leaderrun/locks/clock"
)

// Group starts each job in a Job Object, which what the job starts is in, too.
// We ourselves are in another one, around that, which the system ends with us:
// there is no guard, and a leaderrun that is frozen keeps its job.
type Group struct{}

var _ Starter = Group{}

// Start implements [Starter].
func (Group) Start(c Command, _ clock.Instant) (Job, error) {
	if err := endWithUs(); err != nil {
		return nil, os.NewSyscallError("job object", err)
	}
	object, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateJobObject", err)
	}
	p, err := os.StartProcess(c.Path, c.Args, &os.ProcAttr{
		Env:   c.Env,
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP},
	})
	if err != nil {
		_ = windows.CloseHandle(object)
		return nil, NewStartError(c.Path, err)
	}
	j := &objectJob{p: p, object: object, exited: make(chan struct{})}
	if err := j.enclose(); err != nil {
		_ = p.Kill()
		return nil, os.NewSyscallError("AssignProcessToJobObject", err)
	}
	go j.wait()
	return j, nil
}

// endWithUs puts us into a Job Object whose only handle is ours: when that is
// closed, which our end does, the system ends all that is in it.
func endWithUs() error {
	object, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if err := setLimits(object, &limits); err != nil {
		return err
	}
	return windows.AssignProcessToJobObject(object, windows.CurrentProcess())
}

// objectJob is a job in an object of its own.
type objectJob struct {
	p      *os.Process
	object windows.Handle
	exit   Exit
	exited chan struct{}
}

func (j *objectJob) enclose() error {
	var failed error
	err := j.p.WithHandle(func(process uintptr) {
		failed = windows.AssignProcessToJobObject(j.object, windows.Handle(process))
	})
	return errors.Join(err, failed)
}

func (j *objectJob) wait() {
	j.exit = Exit{Code: 255}
	if st, err := j.p.Wait(); err == nil {
		j.exit.Code = st.ExitCode()
	}
	close(j.exited)
}

func (j *objectJob) PID() int                  { return j.p.Pid }
func (j *objectJob) Stopped() <-chan os.Signal { return nil }
func (j *objectJob) Exited() <-chan struct{}   { return j.exited }
func (j *objectJob) Exit() Exit                { return j.exit }
func (j *objectJob) Failed() <-chan error      { return nil }

// Containment implements [Job].
func (j *objectJob) Containment() (tier, why string) { return "job object", "" }

// Extend does nothing: nobody else can kill the job here.
func (j *objectJob) Extend(clock.Instant) {}

// Signal sends CTRL_BREAK, whatever the signal: a process group gets no other.
func (j *objectJob) Signal(os.Signal) error {
	return os.NewSyscallError("GenerateConsoleCtrlEvent",
		windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(j.p.Pid)))
}

func (j *objectJob) Stop(sig os.Signal) error { return j.Signal(sig) }

// killed is the exit status of a job that was killed, as a unix shell has it.
const killed = 137

func (j *objectJob) Kill() error {
	return os.NewSyscallError("TerminateJobObject", windows.TerminateJobObject(j.object, killed))
}

// Gone asks the system how many processes are in the object.
func (j *objectJob) Gone() bool {
	select {
	case <-j.exited:
	default:
		return false
	}
	n, err := activeProcesses(j.object)
	return err == nil && n == 0
}
