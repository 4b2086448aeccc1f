package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxPasses bounds how often Signal looks for processes that were forked meanwhile, because a
// job may fork for ever.
const maxPasses = 16

// Signal sends a signal to every process of the group and below, once to each. If the job
// forks all the time, Signal may miss processes; only Kill is certain. It is not an error if
// there is no process. If we may not signal a process, Signal signals the others and returns
// an error.
func (g *Group) Signal(sig syscall.Signal) error {
	s := signaller{group: filepath.Base(g.path), sig: sig, sent: make(map[int]bool)}
	for range maxPasses {
		before := len(s.sent)
		s.walk(g.path)
		if len(s.sent) == before {
			break
		}
	}
	return s.err
}

// A signaller sends one signal to one group.
type signaller struct {
	group string // its name, which is unique
	sig   syscall.Signal
	sent  map[int]bool // by process id
	err   error        // the first
}

// walk signals the processes of a cgroup and of those below it. It ignores a cgroup that was
// removed. The list of a threaded cgroup cannot be read, but the cgroup above it, which is
// also ours, lists its processes.
func (s *signaller) walk(dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if removed(err) {
		return
	}
	if !errors.Is(err, unix.EOPNOTSUPP) {
		s.note(err)
	}
	for id := range strings.Lines(string(text)) {
		// A process of a pid namespace that is not below ours has the id 0.
		if pid, _ := strconv.Atoi(strings.TrimSpace(id)); pid > 0 && !s.sent[pid] {
			s.sent[pid] = true
			s.note(s.send(pid))
		}
	}
	below, err := children(dir)
	s.note(err)
	for _, child := range below {
		s.walk(child)
	}
}

// send signals one process. The id may belong to another process by now, so send opens the
// process before it checks whether that is in the group.
func (s *signaller) send(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
		if !s.member(pid) {
			return nil
		}
		err = unix.PidfdSendSignal(fd, s.sig, nil, 0)
	}
	if errors.Is(err, unix.ESRCH) { // it has ended
		return nil
	}
	return os.NewSyscallError("pidfd", err)
}

// member reports whether a process is in the group or below it.
func (s *signaller) member(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return false
	}
	path, _ := pathIn(string(text))
	return slices.Contains(strings.Split(path, "/"), s.group)
}

func (s *signaller) note(err error) {
	if s.err == nil {
		s.err = err
	}
}
