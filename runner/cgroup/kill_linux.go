package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Kill kills every process of the group, whatever its user, even if it is stopped or frozen.
// It does not wait for their deaths. It is not an error if the group has no process or was
// removed. Kernels before 6.14 may miss a process that is just being forked: call Kill again
// while the group is populated.
//
// Kill may block: the kernel takes one lock for whatever is done to any cgroup of the machine, such
// as starting a container. Where many start at once, we have waited for seconds. So Kill first
// strikes.
func (g *Group) Kill() error {
	g.strike()
	_, err := g.kill.Write([]byte("1"))
	if removed(err) {
		return nil
	}
	return err
}

// strike kills the processes of the group and below that it finds and may signal, the first 200 or
// so. It waits for no lock of the kernel. A job of more processes, or one that forks faster than
// anybody can look, is for cgroup.kill, which must not wait for us.
func (g *Group) strike() {
	for s := (striker{struck: map[int]bool{}, left: 200}); s.strike(g.path); {
	}
}

// A striker kills processes of a group one by one.
type striker struct {
	struck map[int]bool // by process id
	left   int          // the number of processes and cgroups that it still looks at
}

// strike kills processes of a cgroup, and of those below it, that were not struck yet. It reports
// whether it must look again, because it has found some.
func (s *striker) strike(dir string) (again bool) {
	if s.left <= 0 {
		return false
	}
	list := filepath.Join(dir, "cgroup.procs")
	fresh := slices.DeleteFunc(members(list), func(pid int) bool { return s.struck[pid] })
	fresh = fresh[:min(len(fresh), s.left)]
	s.left -= 1 + len(fresh)
	for some := range slices.Chunk(fresh, 100) { // descriptors are few
		s.kill(list, some)
	}
	below, _ := children(dir)
	for _, child := range below {
		again = s.strike(child) || again
	}
	return again || len(fresh) > 0
}

// kill kills some of the processes of a list. An id may belong to another process by now. So it
// opens each process, and then reads the list again: an id that is still there is that of the
// opened process, or of another one, and then the opened process has ended.
func (s *striker) kill(list string, pids []int) {
	opened := make(map[int]int, len(pids)) // pidfds by process id
	for _, pid := range pids {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			opened[pid] = fd
		}
	}
	for _, pid := range members(list) {
		if fd, ok := opened[pid]; ok {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			s.struck[pid] = true
		}
	}
	for _, fd := range opened {
		_ = unix.Close(fd)
	}
}

// members returns the processes of a cgroup, given its cgroup.procs. A threaded cgroup has no such
// list, but the cgroup above it, which is also ours, lists its processes.
func members(list string) (pids []int) {
	text, _ := os.ReadFile(list)
	for line := range strings.Lines(string(text)) {
		// A process of a pid namespace that is not below ours has the id 0.
		if pid, _ := strconv.Atoi(strings.TrimSpace(line)); pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}
