package proc

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// A process that left the job's group is found by its parents. A process that loses its
// parent becomes a child of the nearest subreaper above it, which is the process that owns
// the job. So the descendants of that process are the job.

// A Tree is the descendants of this process, except some of its children and the
// descendants of those.
type Tree struct {
	// Exclude, if not nil, reports whether a child and its descendants are left alone.
	// If /proc hides the child, started is 0, because it is unknown.
	Exclude func(pid int, started uint64) bool
	// Groups, if not empty, limits the tree to the processes of these groups.
	Groups []int
	// Enough, if not nil, ends a look early: if a job forks all the time, the look might
	// never end.
	Enough func() bool
}

// AdoptOrphans makes this process a subreaper (since Linux 3.4): it becomes the parent of
// descendants that lose theirs.
func AdoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// A process is what /proc/PID/stat says of one.
type process struct {
	pid, parent, group int
	pidfd              int    // opened before the rest was read; 0: it is not open
	state              byte   // unseen: /proc hides the process
	threads            int    // those that are alive
	started            uint64 // in ticks of 10 ms after the boot; 0: unseen
}

// unseen is the state of a process that its parent has, but /proc hides. /proc is mounted
// with hidepid, as by ProtectProc= of systemd, and the process is another user's, or not
// dumpable.
const unseen = '?'

// alive reports whether any thread of the process runs. When the first thread has ended, the
// process looks like a zombie, but the others continue.
func (p process) alive() bool { return p.state != 'Z' && p.state != 'X' || p.threads > 1 }

// Signal sends signals to each process of the tree that is alive. It returns how many there
// are. If a child of ours is in the given group, Signal signals the group as a whole,
// unless already says that the group has got the signals: while such a child is not
// reaped, the id of the group cannot belong to others.
//
// SIGKILL is sent to a process as soon as it is found. Otherwise a job in which each process
// starts the next one and ends would escape. Then those that die compete with us for the
// processors, so a process must take few system calls.
func (t Tree) Signal(group int, already bool, sigs ...unix.Signal) (alive int, err error) {
	self := os.Getpid()
	kill := sigs[0] == unix.SIGKILL
	var met []process
	send := func(p process) {
		if p.group == group && p.parent == self && !already {
			already = true
			for _, sig := range sigs {
				_ = unix.Kill(-group, sig)
			}
		}
		if p.group != group || !already {
			p.signal(sigs)
		}
	}
	err = t.each(kill, func(p process) {
		if !p.alive() {
			return
		}
		alive++
		if kill {
			send(p)
		} else {
			met = append(met, p)
		}
	})
	for _, p := range met {
		if t.enough() {
			break
		}
		send(p)
	}
	return alive, err
}

// Reap reaps the children of the tree that have ended. It returns how many children it saw,
// reaped or not: a child that has just ended may have left us another one that Reap did not
// see. If it saw none, nothing of the tree is left. Reap is for a process that has other
// children. Without them, wait4(2) is enough.
func (t Tree) Reap() (seen int, err error) {
	self := os.Getpid()
	err = t.each(false, func(p process) {
		if p.parent == self {
			seen++
			_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
		}
	})
	return seen, err
}

// each calls f for each process of the tree, parents first. With open, the process has a pidfd
// while f runs.
//
// A parent may end before we have asked for its children: because a signal has reached its group
// just before, say. They are our own then, but were not when we began. So without open, each looks
// for more of our children until there are none. With open, which is for SIGKILL, the caller looks
// again until nothing is left.
func (t Tree) each(open bool, f func(process)) error {
	kids, err := children(os.Getpid(), 0)
	if err != nil { // before Linux 4.2, or the kernel was built without it
		return t.search(f)
	}
	for met := map[int]bool{}; len(kids) > 0; {
		for len(kids) > 0 {
			if t.enough() {
				return nil
			}
			met[kids[0].pid] = true
			more := t.visit(kids[0], open, f)
			kids = append(kids[1:], more...)
		}
		if !open {
			kids, _ = children(os.Getpid(), 0)
			kids = slices.DeleteFunc(kids, func(k kid) bool { return met[k.pid] })
		}
	}
	return nil
}

// visit calls f for a process, and returns the children that it has then.
func (t Tree) visit(k kid, open bool, f func(process)) (more []kid) {
	pidfd := 0
	if open {
		pidfd = openProcess(k.pid)
		defer closeProcess(pidfd)
	}
	p, err := readProcess(k.pid)
	if err != nil && gone(k.pid) {
		return nil
	} else if err != nil {
		p = process{pid: k.pid, parent: k.parent, state: unseen}
		p.group, _ = unix.Getpgid(k.pid)
	}
	p.pidfd = pidfd
	if p.parent == os.Getpid() && t.excludes(p) {
		return nil
	}
	if t.has(p) {
		f(p)
	}
	more, _ = children(p.pid, p.threads) // if it has ended, its children are ours
	return more
}

func (t Tree) enough() bool { return t.Enough != nil && t.Enough() }

// gone reports whether a process does not exist. A hidden process does.
func gone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// A kid is a child of another process.
type kid struct{ pid, parent int }

// children returns the children of a process. The kernel lists them by thread, and a process
// with one thread has the thread's id.
func children(pid, threads int) (kids []kid, err error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	names := []string{strconv.Itoa(pid)}
	if threads != 1 {
		if names, err = entries(dir); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		list, err := readAll(dir + name + "/children")
		if err != nil && pid == os.Getpid() {
			return nil, err
		}
		for _, field := range bytes.Fields(list) {
			if n, err := strconv.Atoi(string(field)); err == nil {
				kids = append(kids, kid{n, pid})
			}
		}
	}
	return kids, nil
}

func entries(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return f.Readdirnames(-1)
}

// readAll reads a file of /proc with fewer system calls than package os.
func readAll(path string) (all []byte, err error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	var buf [1024]byte
	for {
		n, err := unix.Read(fd, buf[:])
		if err != nil || n <= 0 {
			return all, err
		}
		all = append(all, buf[:n]...)
	}
}

// ChildOf returns a child of another process, or 0 if there is none.
func ChildOf(pid int) (child int) {
	if kids, err := children(pid, 0); err == nil && len(kids) > 0 {
		return kids[0].pid
	}
	_ = eachProcess(func(p process) {
		if p.parent == pid {
			child = p.pid
		}
	})
	return child
}

// search is like each, but looks at all processes of the system.
func (t Tree) search(f func(process)) error {
	self := os.Getpid()
	all := map[int]process{}
	err := eachProcess(func(p process) {
		all[p.pid] = p
		if p.parent == self && !t.excludes(p) && t.has(p) {
			f(p)
		}
	})
	for _, p := range all {
		if p.parent != self && t.has(p) && t.descends(all, p) {
			f(p)
		}
	}
	return err
}

// has reports whether a process is in one of the groups, or all groups count.
func (t Tree) has(p process) bool { return len(t.Groups) == 0 || slices.Contains(t.Groups, p.group) }

func (t Tree) excludes(p process) bool { return t.Exclude != nil && t.Exclude(p.pid, p.started) }

// descends reports whether a process descends from a child of ours.
func (t Tree) descends(all map[int]process, p process) bool {
	self := os.Getpid()
	for range len(all) { // lines that were read at different times may make a circle
		if p.parent == self {
			return !t.excludes(p)
		}
		var ok bool
		if p, ok = all[p.parent]; !ok {
			return false
		}
	}
	return false
}

// signal signals a process, and not another that has the same id by now. Without pidfds
// (before Linux 5.3, or if an old container's seccomp filter forbids them, or no descriptor
// is left), another process may get the signal in very rare cases.
func (p process) signal(sigs []unix.Signal) {
	checked := p.pidfd != 0 && p.state != unseen
	if p.pidfd == 0 {
		p.pidfd = openProcess(p.pid)
		defer closeProcess(p.pidfd)
	}
	if !checked && !p.isStill() {
		return
	}
	for _, sig := range sigs {
		if p.pidfd == 0 {
			_ = unix.Kill(p.pid, sig)
		} else {
			_ = unix.PidfdSendSignal(p.pidfd, sig, nil, 0)
		}
	}
}

// openProcess returns a pidfd, or 0, which is never one.
func openProcess(pid int) (pidfd int) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0
	}
	return pidfd
}

func closeProcess(pidfd int) {
	if pidfd != 0 {
		_ = unix.Close(pidfd)
	}
}

// isStill reports whether the id still belongs to this process. An unseen process is known
// by its parent: if its parent had the id as a child before the descriptor was opened, and
// has it afterwards, the descriptor belongs to this process, or to one that has ended.
func (p process) isStill() bool {
	if p.state != unseen {
		now, err := readProcess(p.pid)
		return err == nil && now.started == p.started
	}
	kids, err := children(p.parent, 0)
	return err != nil && p.parent == os.Getpid() || slices.Contains(kids, kid{p.pid, p.parent})
}

// eachProcess calls f for all processes in /proc, in the order of their ids. An error says
// that it could not read some of them, for example because no descriptor was left.
func eachProcess(f func(process)) error {
	dir, err := os.Open("/proc")
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	var hidden error
	for {
		names, err := dir.Readdirnames(64)
		for _, name := range names {
			pid, err := strconv.Atoi(name)
			if err != nil {
				continue
			}
			switch p, err := readProcess(pid); {
			case err == nil:
				f(p)
			case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOMEM):
				hidden = err
			}
		}
		if len(names) == 0 || err != nil {
			return hidden // else it is io.EOF
		}
	}
}

// readProcess reads /proc/PID/stat. It does without package os, because there may be
// thousands.
func readProcess(pid int) (process, error) {
	path := append(strconv.AppendInt([]byte("/proc/"), int64(pid), 10), "/stat"...)
	fd, err := unix.Open(string(path), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return process{}, err
	}
	var buf [512]byte
	n, err := unix.Read(fd, buf[:])
	_ = unix.Close(fd)
	if err != nil {
		return process{}, err
	}
	return parseStat(pid, buf[:n])
}

var errStat = errors.New("not as in proc(5)")

// parseStat reads the fields after the name, which is in brackets and may be anything. They
// begin with the state and the ids of parent and group. The number of threads is the 18th,
// and the start the 20th of them.
func parseStat(pid int, line []byte) (process, error) {
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(fields) < 20 {
		return process{}, errStat
	}
	p := process{pid: pid, state: fields[0][0]}
	var err1, err2, err3, err4 error
	p.parent, err1 = strconv.Atoi(string(fields[1]))
	p.group, err2 = strconv.Atoi(string(fields[2]))
	p.threads, err3 = strconv.Atoi(string(fields[17]))
	p.started, err4 = strconv.ParseUint(string(fields[19]), 10, 64)
	return p, errors.Join(err1, err2, err3, err4)
}

// Children returns our children, and when each was started.
//
// If there are none, that takes one system call. To list them makes an entry of /proc for each
// of our threads, each thread drops its own when it ends, and whoever waits for the end of a
// process waits for that too, on a busy machine for milliseconds.
func Children() map[int]uint64 {
	all := map[int]uint64{}
	if unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil) == unix.ECHILD {
		return all
	}
	kids, _ := children(os.Getpid(), 0) // without this list, processes are searched for, and none is hidden
	for _, k := range kids {
		all[k.pid] = Started(k.pid)
	}
	return all
}

// Started returns when a process started, for Tree.Exclude, or 0 if that is unknown.
func Started(pid int) uint64 {
	p, _ := readProcess(pid)
	return p.started
}
