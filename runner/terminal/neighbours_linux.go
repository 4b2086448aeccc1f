package terminal

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel may suspend others a moment after it has signalled us. If there are others, we
// look for so long.
const (
	looks     = 10
	lookPause = 10 * time.Millisecond
)

// ignoresINT reports whether a process ignores INT, or this is unknown.
func ignoresINT(pid int) bool {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	_, mask, _ := bytes.Cut(status, []byte("\nSigIgn:\t"))
	mask, _, _ = bytes.Cut(mask, []byte("\n"))
	ignored, err := strconv.ParseUint(string(mask), 16, 64)
	return err != nil || ignored&(1<<(unix.SIGINT-1)) != 0
}

// othersSuspended reports whether a process of our group, other than us, is suspended.
func othersSuspended(group int) bool {
	for range looks {
		others, suspended := neighbours(group)
		if suspended || !others {
			return suspended
		}
		time.Sleep(lookPause)
	}
	return false
}

// neighbours reports whether our group has other processes, and whether one is suspended.
func neighbours(group int) (others, suspended bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return false, false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + name + "/stat")
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // state, parent, group, …; the name may contain anything
		if len(fields) > 2 && string(fields[2]) == strconv.Itoa(group) {
			others = true
			suspended = suspended || fields[0][0] == 'T'
		}
	}
	return others, suspended
}
