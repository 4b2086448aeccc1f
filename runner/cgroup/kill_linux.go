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

// A strike ends after maxPasses or when it has killed maxStruck processes. Then the job forks
// faster than anybody can look.
const (
	maxPasses = 16
	maxStruck = 1000
)

// strike kills the processes of the group and below that it finds and may signal. It waits for
// no lock of the kernel. Only Kill is certain.
func (g *Group) strike() {
	struck := map[int]bool{} // by process id
	for range maxPasses {
		if found := strikeIn(g.path, struck); !found || len(struck) >= maxStruck {
			return
		}
	}
}

// strikeIn strikes the processes of a cgroup, and of those below it, that were not struck yet. It
// reports whether it has found any.
func strikeIn(dir string, struck map[int]bool) (found bool) {
	list := filepath.Join(dir, "cgroup.procs")
	fresh := slices.DeleteFunc(members(list), func(pid int) bool { return struck[pid] })
	for some := range slices.Chunk(fresh, 32) { // descriptors are few
		strikeSome(list, some, struck)
	}
	below, _ := children(dir)
	for _, child := range below {
		found = strikeIn(child, struck) || found
	}
	return found || len(fresh) > 0
}

// strikeSome strikes some of the processes of a list. An id may belong to another process by now.
// So it opens each process, and then reads the list again: an id that is still there is that of the
// opened process, or of another one, and then the opened process has ended.
func strikeSome(list string, pids []int, struck map[int]bool) {
	opened := make(map[int]int, len(pids)) // pidfds by process id
	for _, pid := range pids {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			opened[pid] = fd
		}
	}
	for _, pid := range members(list) {
		if fd, ok := opened[pid]; ok {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			struck[pid] = true
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
