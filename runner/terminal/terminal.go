//go:build unix

package terminal

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Terminal is our controlling terminal. It is not safe for concurrent use.
//
// Its methods return nothing that a caller could act on: a terminal that hangs
// up while it is used is noticed by the signal that comes with it.
type Terminal struct {
	file   *os.File
	own    int           // our process group
	job    int           // the job's, once it runs
	given  bool          // the job's group was made the foreground group, as far as we know
	ours   *unix.Termios // the modes at that time
	theirs *unix.Termios // what a job that was stopped had made of them, if it was something else
}

// Open finds our controlling terminal, to whatever the standard streams are
// redirected. It returns nil if there is none.
func Open() *Terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return &Terminal{file: os.NewFile(uintptr(fd), "/dev/tty"), own: unix.Getpgrp()}
}

// Close gives up the terminal for good.
func (t *Terminal) Close() { _ = t.file.Close() }

// Offer returns the terminal if the job's group is to be its foreground group
// from the start: we have it, and nobody else in our group looks likely to need
// it. In a pipeline ("leaderrun job | less") that is not known, and the job gets
// it when it asks for it; see Give.
func (t *Terminal) Offer() *os.File {
	if t.foreground() != t.own || !isTerminal(0) || isPipe(0) || isPipe(1) || isPipe(2) {
		return nil
	}
	t.ours, t.given = t.modes(), true
	return t.file
}

// Started says what the job's group is.
func (t *Terminal) Started(group int) { t.job = group }

// Give makes the job's group the foreground group if ours is it, and reports
// whether it now is. The job finds the modes that it was stopped with.
func (t *Terminal) Give() bool {
	switch t.foreground() {
	case t.job:
		t.given = true
	case t.own:
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

// Take takes the terminal back from the job, if the job was given it, and
// reports whether it was. If the job has been stopped or killed, it had no
// chance to restore the modes: then that is done here.
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

// Yield is called when our group was stopped for want of the terminal, which
// others of it may be, but not we. It takes the terminal back from the job,
// continues our group and reports true; or false if somebody else has it.
func (t *Terminal) Yield() bool {
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

// Continued is called when we have been stopped and continued by others. A
// shell has had the terminal in between.
func (t *Terminal) Continued() {
	if t.given {
		t.Give()
	}
}

// foreground returns the foreground group, or 0.
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
		err = unstopped(func() error { return unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, group) })
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

// setModes does not wait until all output is read, as a shell would: somebody
// may wait for the lock.
func (t *Terminal) setModes(modes *unix.Termios) {
	_ = unstopped(func() error { return unix.IoctlSetTermios(int(t.file.Fd()), setModes, modes) })
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
