package host

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Run is the processes of one leaderrun. Those that are not there (not yet, or
// not any more) are the zero Process.
type Run struct {
	Leaderrun Process
	Guard     Process
	Helper    Process   // of the backend: leaderrun-etcd, and so on
	Job       Process   // its first process
	Rest      []Process // all else that descends from these, such as what the job has started
}

// The name of leaderrun's guard (runner/guard), and the prefix of the names of helpers
// (locks/helper).
const (
	guardName    = "leaderrun-guard"
	helperPrefix = "leaderrun-"
)

// Processes are those of this machine by the ids of their parents, the oldest first. Zombies are
// not among them.
type Processes map[int][]Process

// Look finds the processes of the leaderrun with the given id. They may have changed since all
// were found. It can find them only while leaderrun is alive: after that, they are children of
// other processes.
//
// The job is the guard's oldest child. If the job's first process has ended and others
// are left, it is one of these.
func (family Processes) Look(pid int) Run {
	r := Run{Leaderrun: At(pid)}
	for _, kid := range family[pid] {
		switch names := startedBy(kid.PID); {
		case names[0] == guardName:
			r.Guard = kid
		case strings.HasPrefix(names[0], helperPrefix), strings.HasPrefix(names[1], helperPrefix):
			r.Helper = kid
		}
	}
	if kids := family[r.Guard.PID]; r.Guard.PID > 1 && len(kids) > 0 {
		r.Job = kids[0]
	}
	named := []Process{r.Guard, r.Helper, r.Job}
	var walk func(int)
	walk = func(pid int) {
		for _, kid := range family[pid] {
			if !slices.Contains(named, kid) {
				r.Rest = append(r.Rest, kid)
			}
			walk(kid.PID)
		}
	}
	walk(pid)
	return r
}

// Now finds all processes. They may change meanwhile.
func Now() Processes {
	all := Processes{}
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid <= 1 {
			continue
		}
		if p, parent := find(pid); p.PID != 0 {
			all[parent] = append(all[parent], p)
		}
	}
	for _, kids := range all {
		slices.SortFunc(kids, func(a, b Process) int {
			return cmp.Or(cmp.Compare(a.started, b.started), cmp.Compare(a.PID, b.PID))
		})
	}
	return all
}

// find returns no process if there is none, or only a zombie. A process that looks like a zombie
// but has several threads has lost only the first of them. Its name, in brackets, may contain
// anything.
func find(pid int) (p Process, parent int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return p, 0
	}
	if threads, _ := strconv.Atoi(fields[17]); (fields[0] == "Z" || fields[0] == "X") && threads <= 1 {
		return p, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	started, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return p, 0
	}
	return Process{pid, started}, parent
}

// startedBy are the names of a process's first two arguments, without directories:
// a script's own is the second.
func startedBy(pid int) (names [2]string) {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	for i, arg := range strings.SplitN(string(line), "\x00", 3) {
		if i < len(names) {
			names[i] = filepath.Base(arg)
		}
	}
	return names
}
