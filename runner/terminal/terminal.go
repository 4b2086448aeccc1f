package terminal

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Terminal is our controlling terminal. It is not safe for concurrent use.
//
// Its methods return no errors: if the terminal hangs up while we use it, we get a signal.
type Terminal struct {
	file   *os.File
	own    int           // our process group
	job    int           // the job's process group, once it runs
	given  bool          // as far as we know, the job's group is the foreground group
	ours   *unix.Termios // the modes when the job was given the terminal
	theirs *unix.Termios // the modes of a job that was suspended, if they differ
	behind bool          // a script has started us in its background
}

// Open returns our controlling terminal, or nil if we have none. It does not matter where
// the standard streams are redirected.
func Open() *Terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	// A shell without job control makes a process ignore INT that it starts in the background.
	// If our parent ignores INT as well, we may have only inherited that ("trap '' INT").
	behind := signal.Ignored(unix.SIGINT) && !ignoresINT(os.Getppid())
	return &Terminal{file: os.NewFile(uintptr(fd), "/dev/tty"), own: unix.Getpgrp(), behind: behind}
}

// Close ends the use of the terminal.
func (t *Terminal) Close() { _ = t.file.Close() }

// Offer returns the terminal if the job's group becomes the foreground group at its start:
// we have the terminal, and no other process of our group seems to need it. In a pipeline
// ("leaderrun job | less") we cannot know that, and Offer returns nil: the job gets the
// terminal when it asks for it; see Give. The same applies if we ignore INT: Ctrl-C may be
// meant for a script, in whose background we are.
func (t *Terminal) Offer() *os.File {
	if t.foreground() != t.own || signal.Ignored(unix.SIGINT) || !isTerminal(0) || isPipe(0) || isPipe(1) || isPipe(2) {
		return nil
	}
	t.ours, t.given = t.modes(), true
	return t.file
}

// Started sets the job's process group.
func (t *Terminal) Started(group int) { t.job = group }

// Give makes the job's group the foreground group if ours is. It reports whether the job's
// group is the foreground group now. The job gets the modes that it was suspended with. In
// the background of a script it does not get the terminal: Ctrl-C would not reach the script.
func (t *Terminal) Give() bool {
	switch group := t.foreground(); {
	case group == t.job:
		t.given = true
	case group == t.own && !t.behind:
		t.ours = t.modes()
		if t.theirs != nil {
			t.setModes(t.theirs)
			t.theirs = nil
		}
		t.given = t.setForeground(t.job)
	default: // the shell's, or another job's
		t.given = false
	}
	return t.given
}

// Take takes the terminal back if the job was given it, and reports whether it was. With
// restore it also restores the modes, because a job that was suspended or killed had no
// chance to do that.
func (t *Terminal) Take(restore bool) bool {
	if !t.given {
		return false
	}
	t.given = false
	t.setForeground(t.own)
	if now := t.modes(); restore && now != nil && t.ours != nil && *now != *t.ours {
		t.theirs = now
		t.setModes(t.ours)
	}
	return true
}

// Elsewhere reports whether the foreground group is neither ours nor the job's, and exists. What a
// job that was a shell has left behind does not.
func (t *Terminal) Elsewhere() bool {
	group := t.foreground()
	return group > 1 && group != t.own && group != t.job && !errors.Is(unix.Kill(-group, 0), unix.ESRCH)
}

// Yield is called at a signal that suspends a group that wants the terminal. The kernel sends
// it to the whole group. If it has suspended others of our group, and the job or our group
// has the terminal, Yield takes it back for them, continues our group and returns true.
// Otherwise somebody has sent the signal to us, as a command for the job.
func (t *Terminal) Yield() bool {
	if !othersSuspended(t.own) {
		return false
	}
	switch t.foreground() {
	case t.job:
		t.given = true
		t.Take(false)
	case t.own:
	default:
		return false
	}
	_ = unix.Kill(0, unix.SIGCONT)
	return true
}

// Continued is called when others have suspended and continued us. In between, a shell had
// the terminal.
func (t *Terminal) Continued() {
	if t.given {
		t.Give()
	}
}

// foreground returns the foreground group, or 0 if it is unknown.
func (t *Terminal) foreground() int {
	group, err := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

func (t *Terminal) setForeground(group int) bool {
	err := error(syscall.EINTR)
	for errors.Is(err, syscall.EINTR) {
		err = withoutTTOU(func() error { return unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, group) })
	}
	return err == nil
}

func (t *Terminal) modes() *unix.Termios {
	modes, err := unix.IoctlGetTermios(int(t.file.Fd()), getModes)
	if err != nil {
		return nil
	}
	return modes
}

// setModes does not wait until all output has been read, as a shell would, because somebody
// may wait for the lock.
func (t *Terminal) setModes(modes *unix.Termios) {
	_ = withoutTTOU(func() error { return unix.IoctlSetTermios(int(t.file.Fd()), setModes, modes) })
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, getModes)
	return err == nil
}

func isPipe(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	kind := st.Mode & unix.S_IFMT
	return kind == unix.S_IFIFO || kind == unix.S_IFSOCK
}
