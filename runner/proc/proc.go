// Package proc is what the runner knows of processes: how a command is found,
// and what can be done with a job that runs it. Package guard keeps jobs.
package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// A Command is what to run. Standard streams, working directory, umask and
// limits are ours.
type Command struct {
	Path    string   // the executable, resolved
	Args    []string // with the name first, as in argv
	Env     []string // KEY=value, complete
	OnDeath OnDeath

	// NoInput says that its standard input is the null device instead of ours.
	NoInput bool

	// Terminal is our controlling terminal if the job's group is to be its
	// foreground group before the command runs, else nil. A start that fails may
	// have made that change, too.
	Terminal *os.File
}

// OnDeath says what the guard does about the lock if leaderrun dies before its job. The
// zero OnDeath leaves the lock to its lease.
type OnDeath struct {
	// Hold, if not nil, is a file that holds the lock as long as any process has it
	// open: it is kept open until no process of the job is left.
	Hold *os.File
	// Release, if not nil, is a pipe to which Message is written when no process
	// of the job is left.
	Release *os.File
	Message []byte
	// Remove has files and empty directories, which are removed in this order when no
	// process of the job is left.
	Remove []string
	// NotOfJob, if not nil, reports whether a child of ours is not part of the job.
	// leaderrun asks it if the guard has failed.
	NotOfJob func(pid int) bool
}

// A Job is a started command with all its processes. Its methods are safe for
// concurrent use.
type Job interface {
	// Started gets nil when the first process was started, or why it was not: then there
	// is no job, and nothing else is told of it. If nobody knows, it gets nothing, but
	// Failed says why, and what there may be of the job is killed. It comes before all
	// else, once.
	Started() <-chan error
	// PID is the process id of the first process, 0 if it is not known that it was started.
	PID() int
	// Signal sends sig to the first process and those that stayed with it, as a
	// terminal would. It is not an error if none of them is left.
	Signal(sig os.Signal) error
	// Stop sends sig to every process of the job, and continues those that
	// were stopped, or they could not act on it.
	Stop(sig os.Signal) error
	// Kill ends every process of the job at once. It does not wait. It may be
	// called again for processes that it has missed.
	Kill() error
	// Extend moves the moment at which the job is killed by whoever else can
	// kill it, should we not be able to.
	Extend(killBy clock.Instant)
	// Exited is closed when the first process has ended. Others may live on.
	Exited() <-chan struct{}
	// Stopped gets the signal by which the first process was stopped. A stop that
	// is not received before the next one may be forgotten. Nil: not known here.
	Suspended() <-chan os.Signal
	// Exit says how the first process ended. Valid once Exited is closed.
	Exit() Exit
	// CheckHealth starts a health check: a command in a process group of its own that
	// is a part of the job. It is kept together and killed with the job, whoever does
	// that, and the job is not gone before it is. Signal does not reach it, Stop does.
	//
	// Its standard input is the null device. It never gets the terminal, and its OnDeath
	// is not used. There is one at a time: as long as another one runs, or it is not
	// known whether that was started, CheckHealth fails. An error is a *[StartError] if
	// it is the command's, and an [ErrUnguarded] if the job has ended, or is being
	// killed, or nobody is there to answer.
	//
	// CheckHealth waits until the command was started, up to ten seconds if the guard is
	// slow: a loop that has deadlines to keep must not call it.
	CheckHealth(c Command) (HealthCheck, error)
	// Gone reports whether no process of the job is left, as far as it can be
	// proved; it does not block.
	Gone() bool
	// Containment says how the job is kept together and, if there is a stronger
	// way that was not asked for, why not that. For people.
	Containment() (tier, why string)
	// Failed gets the reason when nobody but us can kill the job any more. It may be nil.
	Failed() <-chan error
}

// A HealthCheck is a command that was started by CheckHealth. Its methods are safe for
// concurrent use. None waits for it.
type HealthCheck interface {
	// Done is closed when the command's own process has ended, if need be with the
	// job. What it leaves behind belongs to the job; where that cannot be found
	// again, it is killed.
	Done() <-chan struct{}
	// Exit says how it ended. Valid once Done is closed.
	Exit() Exit
	// Kill ends it at once, with its process group. Processes that have left the group
	// belong to the job. If the command has ended, Kill does nothing.
	Kill()
}

// A Starter starts jobs.
type Starter interface {
	// Start starts a job that is killed at a moment if that is not moved, or
	// when this process dies, as far as the system can promise that. It does not wait
	// until the job was started; see [Job.Started]. An error, there or here, is a
	// *[StartError] if it is the command's.
	Start(c Command, killBy clock.Instant) (Job, error)
	// Close ends a starter that has no job, or of whose job nothing is left.
	Close()
}

// An Exit says how a process ended: of a signal, or with a code.
type Exit struct {
	Code   int       // 0 to 255, if Signal is nil
	Signal os.Signal // what it died of, or nil
	// Spent says that it was killed, most likely by the kernel, as its CPU time was used up.
	Spent bool
}

// Status is the exit status as a shell shows it: 128+N for signal N.
func (e Exit) Status() int {
	if sig, ok := e.Signal.(syscall.Signal); ok {
		return 128 + int(sig)
	}
	return e.Code
}

// String says for people how the process ended.
func (e Exit) String() string {
	if e.Signal != nil {
		return "died of signal " + signals.Name(e.Signal)
	}
	return fmt.Sprintf("exited with %d", e.Code)
}

// ErrUnguarded is why a job is not started: there is nobody, or no time left, to
// kill it.
var ErrUnguarded = errors.New("the job would not be guarded")

// ErrGuardDied is why a job was not started: the guard had died before it was told of
// one. Another starter may do.
var ErrGuardDied = errors.New("the guard process had died before the job was started")

// ErrForeign is why no job can be kept together: its processes could not be found.
var ErrForeign = errors.New("/proc shows another pid namespace than ours")

// A StartError says why a command cannot be run.
type StartError struct {
	Command  string
	NotFound bool // there is no such command, or no interpreter for it; else it cannot be executed
	Err      error
}

func (e *StartError) Error() string {
	if e.NotFound && !errors.Is(e.Err, errNoInterpreter) {
		return fmt.Sprintf("command %q was not found", e.Command)
	}
	return fmt.Sprintf("command %q cannot be executed: %v", e.Command, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// Passing reports whether it is likely that what could not be started can be soon: its
// file is just being written, as by a deploy, or the system, or a limit, has no room.
func Passing(err error) bool {
	return slices.ContainsFunc([]error{syscall.ETXTBSY, syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE},
		func(e error) bool { return errors.Is(err, e) })
}

var errNoInterpreter = errors.New("its interpreter was not found")

// NewStartError says why what was found cannot be executed. That there is no such
// file may mean the interpreter that it names; timeout(1) makes no difference
// in its exit status, either.
func NewStartError(path string, err error) error {
	e := &StartError{Command: path, NotFound: errors.Is(err, os.ErrNotExist), Err: err}
	if cause := errors.Unwrap(err); cause != nil { // without the path
		e.Err = cause
	}
	if _, missing := os.Stat(path); e.NotFound && missing == nil {
		e.Err = errNoInterpreter
	}
	return e
}

// Find resolves a command's name as execvp does, without starting anything.
// An error is a *[StartError].
func Find(name string) (string, error) {
	path, err := lookPath(name)
	if errors.Is(err, exec.ErrDot) { // a user who puts "." into PATH means it
		err = nil
	}
	if err == nil {
		return path, nil
	}
	var cause *exec.Error
	if errors.As(err, &cause) {
		err = cause.Err
	}
	if errors.Is(err, exec.ErrNotFound) && inPath(name) {
		err = os.ErrPermission
	}
	missing := errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist)
	return "", &StartError{Command: name, NotFound: missing, Err: err}
}

// lookPath looks where execvp(3) does if PATH is not set.
func lookPath(name string) (path string, err error) {
	if _, set := os.LookupEnv("PATH"); set || filepath.Base(name) != name {
		return exec.LookPath(name)
	}
	for _, dir := range []string{"/bin", "/usr/bin"} {
		if path, err = exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", err
}

// inPath reports whether PATH has a file of that name, executable or not.
func inPath(name string) bool {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if f, err := os.Stat(filepath.Join(dir, name)); err == nil && f.Mode().IsRegular() {
			return true
		}
	}
	return false
}
