package threads

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// look returns the room that the user, our cgroups and the machine have. Limits that are far
// away are not counted exactly.
func look() room {
	own, _ := os.ReadFile("/proc/self/cgroup") // if it is missing, there are no cgroup limits
	return tightest(ofUser(), inCgroups("/sys/fs/cgroup", string(own)), ofMachine("/proc/"))
}

func tightest(all ...room) room {
	return slices.MinFunc(all, func(a, b room) int { return cmp.Compare(a.free, b.free) })
}

func ofUser() room {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &limit) != nil || limit.Cur >= many || unlimited() {
		return ample
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return ample
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
	return room{free, int(limit.Cur), "the limit of this user (ulimit -u)", "/proc/self/exe"}
}

// unlimited reports whether the limit does not apply to us: root has none, and neither do
// users who may raise it.
func unlimited() bool {
	const exempt = 1<<unix.CAP_SYS_RESOURCE | 1<<unix.CAP_SYS_ADMIN
	var have [2]unix.CapUserData
	err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &have[0])
	return os.Getuid() == 0 || err == nil && have[0].Effective&exempt != 0
}

// inCgroups returns the room in our own cgroup, as listed in /proc, and in those above it, if
// they are mounted in the usual place: in root or, for version 1, below that.
func inCgroups(root, own string) room {
	least := ample
	for line := range strings.Lines(own) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3) // cgroups(7): number, controllers, path
		if len(fields) < 3 || fields[1] != "" && fields[1] != "pids" || strings.HasPrefix(fields[2], "/..") {
			continue
		}
		top := filepath.Join(root, fields[1])
		for dir := filepath.Join(top, fields[2]); ; dir = filepath.Dir(dir) {
			least = tightest(least, inCgroup(dir))
			if len(dir) <= len(top) {
				break
			}
		}
	}
	return least
}

// inCgroup returns the room in one cgroup.
func inCgroup(dir string) room {
	limit, err := number(dir + "/pids.max")
	if err != nil { // "max"
		return ample
	}
	now, _ := number(dir + "/pids.current")
	return room{limit - now, limit, "pids.max of a cgroup (TasksMax= of a unit)", dir}
}

// ofMachine returns the room that the kernel has. Each task also takes a process id, but only
// the first pid namespace has all of them.
func ofMachine(proc string) room {
	load, _ := os.ReadFile(proc + "loadavg") // as "0.20 0.18 0.12 1/80 11206"
	fields := strings.Fields(string(load))
	if len(fields) < 4 {
		return ample
	}
	_, total, _ := strings.Cut(fields[3], "/")
	now, err := strconv.Atoi(total)
	if err != nil {
		return ample
	}
	least := ample
	for _, name := range []string{"threads-max", "pid_max"} {
		if namespace, _ := os.Readlink(proc + "self/ns/pid"); name == "pid_max" && namespace != firstNamespace {
			continue
		}
		if limit, err := number(proc + "sys/kernel/" + name); err == nil {
			least = tightest(least, room{limit - now, limit, "kernel." + name + " of this machine (sysctl)", "/proc/self/exe"})
		}
	}
	return least
}

// firstNamespace is how the kernel names it since Linux 3.8.
const firstNamespace = "pid:[4026531836]"

func number(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(bytes.TrimSpace(text)))
}
