// Package proc defines jobs for the runner: how to find a command, and what can be done
// with a job that runs it. Package guard implements jobs.
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

// A Command is what to run. It inherits our standard streams, working directory, umask and
// limits.
type Command struct {
	Path    string   // the executable, as found by Find
	Args    []string // with the name first, as in argv
	Env     []string // KEY=value, complete
	OnDeath OnDeath

	// NoInput says that the standard input is the null device instead of ours.
	NoInput bool

	// Terminal, if not nil, is our controlling terminal. The job's group becomes its
	// foreground group before the command runs, perhaps even if the start fails.
	Terminal *os.File
}

// OnDeath says what the guard does about the lock if leaderrun dies before its job, or, with
// [Starter.Entrust], before there is one. With the zero OnDeath, the lock is free when its lease ends.
type OnDeath struct {
	// Hold, if not nil, is a file that holds the lock while any process has it open. The
	// guard keeps it open until no process of the job is left.
	Hold *os.File
	// Release, if not nil, is a pipe. The guard writes Message to it when no process of
	// the job is left.
	Release *os.File
	Message []byte
	// Remove has files and empty directories. The guard removes them in this order when no
	// process of the job is left.
	Remove []string
	// NotOfJob, if not nil, reports whether a child of ours is not part of the job.
	// leaderrun calls it if the guard has failed.
	NotOfJob func(pid int) bool
}

// A Job is a started command with all its processes. Its methods may be called
// concurrently.
type Job interface {
	// Started receives one value before all other channels do: nil if the first process
	// was started, or why it was not. After an error there is no job, and nothing else
	// follows. If nobody knows whether the process was started, Started receives nothing,
	// Failed says why, and any processes of the job are killed.
	Started() <-chan error
	// PID returns the process id of the first process, or 0 until it is known to be started.
	PID() int
	// Signal sends sig to the first process and the others of its group, as a terminal
	// would. It is not an error if none of them is left.
	Signal(sig os.Signal) error
	// Stop sends sig to every process of the job. It also continues suspended processes,
	// which could not act on sig otherwise.
	Stop(sig os.Signal) error
	// Kill kills every process of the job. It does not wait. It may be called again for
	// processes that it has missed.
	Kill() error
	// Extend moves the moment at which the guard kills the job, in case we cannot.
	Extend(killBy clock.Instant)
	// Limit says when the guard kills the job at the latest, however far Extend moves that. A
	// later moment than one before changes nothing.
	Limit(killBy clock.Instant)
	// Exited is closed when the first process has ended. Others may be left.
	Exited() <-chan struct{}
	// Suspended receives the signal by which the first process was suspended. A signal that
	// is not received before the next one may be dropped.
	Suspended() <-chan os.Signal
	// Exit returns how the first process ended. It is valid once Exited is closed.
	Exit() Exit
	// CheckHealth starts a health check: a command that is a part of the job, but has its
	// own process group. It is contained and killed with the job, and the job is not gone
	// before the check is. Stop reaches it; Signal does not.
	//
	// Its standard input is the null device. It never gets the terminal, and its OnDeath
	// is not used. CheckHealth fails while another check runs, or may run. An error is a
	// *[StartError] if it is the command's, and an [ErrUnguarded] if the job has ended, is
	// being killed, or the guard does not answer.
	//
	// CheckHealth waits until the command was started, up to ten seconds if the guard is
	// slow. A loop that has deadlines must not call it.
	CheckHealth(c Command) (HealthCheck, error)
	// Gone is closed when it is proved that no process of the job is left. If that is proved of
	// a first process that has just ended, Gone is closed before Exited.
	Gone() <-chan struct{}
	// Overdue reports whether the guard has killed the job at its deadline, as far as is known
	// once Exited is closed and, of what was left then, once Gone is closed.
	Overdue() bool
	// Containment returns the tier by which the job is contained and, if a stronger tier
	// was allowed, why that is not used. It is for people.
	Containment() (tier, why string)
	// Failed receives why only we can still kill the job, when that is so. It may be nil.
	Failed() <-chan error
}

// IsClosed reports whether a channel was closed that receives nothing, such as that of Job.Gone.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A HealthCheck is a command that was started by CheckHealth. Its methods may be called
// concurrently, and do not wait.
type HealthCheck interface {
	// Done is closed when the command's own process has ended, at the latest with the job.
	// Processes that it leaves behind belong to the job. Where they could not be found
	// again, they are killed.
	Done() <-chan struct{}
	// Exit returns how the command ended. It is valid once Done is closed.
	Exit() Exit
	// Kill kills the command and its process group. Processes that have left the group
	// belong to the job. If the command has ended, Kill does nothing.
	Kill()
}

// A Starter starts jobs.
type Starter interface {
	// Start starts a job. The job is killed at killBy, unless Extend moves that, or when
	// this process dies, as far as the system can promise that. Start does not wait until
	// the job was started; see [Job.Started]. An error, here or there, is a *[StartError]
	// if it is the command's.
	Start(c Command, killBy clock.Instant) (Job, error)
	// Entrust has the guard do what d says if this process dies before it has called Start. It
	// is for a lock that is ours while we wait and nothing runs under it. Only this starter may
	// start what runs next: another's job could outlive the release. Start replaces d.
	Entrust(d OnDeath) error
	// Close ends a starter that has no job, or whose job is gone. It does nothing about the lock.
	Close()
}

// An Exit says how a process ended: by a signal, or with a code.
type Exit struct {
	Code   int       // 0 to 255, if Signal is nil
	Signal os.Signal // the signal that killed it, or nil
	// Spent says that it was killed, probably by the kernel because its CPU time was used up.
	Spent bool
}

// Status returns the exit status as a shell shows it: 128+N for signal N.
func (e Exit) Status() int {
	if sig, ok := e.Signal.(syscall.Signal); ok {
		return 128 + int(sig)
	}
	return e.Code
}

// String says how the process ended, for people.
func (e Exit) String() string {
	if e.Signal != nil {
		return "died of signal " + signals.Name(e.Signal)
	}
	return fmt.Sprintf("exited with %d", e.Code)
}

// ErrUnguarded is why a job is not started, or is killed: the guard cannot kill it in time.
var ErrUnguarded = errors.New("the job would not be guarded")

// ErrGuardDied is why a job was not started: the guard had died before that. Another starter
// may succeed.
var ErrGuardDied = errors.New("the guard process had died before the job was started")

// ErrForeign is why no job can be contained: its processes could not be found.
var ErrForeign = errors.New("/proc shows another pid namespace than ours")

// A StartError says why a command cannot be run.
type StartError struct {
	Command  string
	NotFound bool // the command or its interpreter does not exist; else it cannot be executed
	Err      error
}

func (e *StartError) Error() string {
	if e.NotFound && !errors.Is(e.Err, errNoInterpreter) {
		return fmt.Sprintf("command %q was not found", e.Command)
	}
	return fmt.Sprintf("command %q cannot be executed: %v", e.Command, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// Passing reports whether a command that could not be started can probably be started soon:
// its file is just being written, as by a deploy, or the system or a limit has no room.
func Passing(err error) bool {
	return slices.ContainsFunc([]error{syscall.ETXTBSY, syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE},
		func(e error) bool { return errors.Is(err, e) })
}

var errNoInterpreter = errors.New("its interpreter was not found")

// NewStartError returns the error of a command that was found but cannot be executed. If the
// error says that a file does not exist, that may be the interpreter; the exit status is the
// same, as with timeout(1).
func NewStartError(path string, err error) error {
	e := &StartError{Command: path, NotFound: errors.Is(err, os.ErrNotExist), Err: err}
	if cause := errors.Unwrap(err); cause != nil { // leave out the path
		e.Err = cause
	}
	if _, missing := os.Stat(path); e.NotFound && missing == nil {
		e.Err = errNoInterpreter
	}
	return e
}

// Find finds the executable of a command as execvp(3) does, without starting it. It also looks
// whether the interpreter of a script exists. An error is a *[StartError].
func Find(name string) (string, error) {
	path, err := lookPath(name)
	if errors.Is(err, exec.ErrDot) { // a user who puts "." into PATH wants that
		err = nil
	}
	if err == nil {
		return path, checkScript(path)
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

// lookPath is like exec.LookPath, but if PATH is not set, it searches where execvp(3) does.
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

// inPath reports whether PATH has something of that name, even if it is not executable. It
// may be a directory, such as "."
func inPath(name string) bool {
	if name == "" {
		return false
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
