package threads

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Free returns how many more tasks (threads of any process) the user and our cgroups may
// have. A limit that is far away is not counted exactly.
func Free() int {
	own, _ := os.ReadFile("/proc/self/cgroup") // if it is missing, there are no cgroup limits
	return min(freeOfUser(), freeInCgroups("/sys/fs/cgroup", string(own)))
}

func freeOfUser() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &limit) != nil || limit.Cur >= many || unlimited() {
		return many
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return many
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	free := int(limit.Cur)
	for _, name := range names {
		var threads unix.Stat_t
		if _, err := strconv.Atoi(name); err == nil && unix.Stat("/proc/"+name+"/task", &threads) == nil && int(threads.Uid) == os.Geteuid() {
			free -= int(threads.Nlink) - 2 // the directory has one link per thread
		}
	}
	return free
}

// unlimited reports whether the limit does not apply to us: root has none, and neither do
// users who may raise it.
func unlimited() bool {
	const exempt = 1<<unix.CAP_SYS_RESOURCE | 1<<unix.CAP_SYS_ADMIN
	var have [2]unix.CapUserData
	err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &have[0])
	return os.Getuid() == 0 || err == nil && have[0].Effective&exempt != 0
}

// freeInCgroups returns the tasks left in our own cgroup, as listed in /proc, and in those
// above it, if they are mounted in the usual place: in root or, for version 1, below that.
func freeInCgroups(root, own string) int {
	free := many
	for line := range strings.Lines(own) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3) // cgroups(7): number, controllers, path
		if len(fields) < 3 || fields[1] != "" && fields[1] != "pids" || strings.HasPrefix(fields[2], "/..") {
			continue
		}
		top := filepath.Join(root, fields[1])
		for dir := filepath.Join(top, fields[2]); ; dir = filepath.Dir(dir) {
			free = min(free, freeIn(dir))
			if len(dir) <= len(top) {
				break
			}
		}
	}
	return free
}

// freeIn returns how many more tasks one cgroup may have.
func freeIn(dir string) int {
	number := func(file string) (int, error) {
		text, err := os.ReadFile(dir + "/" + file)
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(string(bytes.TrimSpace(text)))
	}
	limit, err := number("pids.max")
	if err != nil || limit >= many { // "max", or no limit
		return many
	}
	now, _ := number("pids.current")
	return limit - now
}
