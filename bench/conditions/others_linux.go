package conditions

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit in which Linux reports processors' time to programs (USER_HZ).
const tick = 10 * time.Millisecond

// A Watch observes what others do: all processes but this one and its descendants.
type Watch struct {
	machine   processors
	own       time.Duration
	processes map[string]time.Duration
}

// processors is the time of all processors since the machine was started.
type processors struct {
	all, idle time.Duration
	disk      time.Duration // idle, but a process waited for a disk
}

// Begin begins to observe.
func (w *Watch) Begin() error {
	var err error
	w.machine, err = readProcessors()
	w.own, w.processes = own(), processes()
	return err
}

// Others returns which share of the processors' time others have used since Begin, and up to
// three processes that used most. Time that a host took from a virtual machine counts as
// used. With disk, so does time in which a processor had nothing to do because of a disk,
// which may be our own doing unless we only wait. Only descendants that have ended count
// as ours.
func (w *Watch) Others(disk bool) (share float64, by []string, err error) {
	now, err := readProcessors()
	if err != nil {
		return 0, nil, err
	}
	return now.since(w.machine).others(own()-w.own, disk), busiest(w.processes, processes()), nil
}

func (p processors) since(q processors) processors {
	return processors{p.all - q.all, p.idle - q.idle, p.disk - q.disk}
}

// others returns the share that is neither idle nor our own. Both sums are rounded, so the
// difference of equal ones may be below zero.
func (p processors) others(own time.Duration, disk bool) float64 {
	used := p.all - p.idle - own
	if !disk {
		used -= p.disk
	}
	return max(0, float64(used)/float64(max(p.all, tick)))
}

func readProcessors() (processors, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processors{}, err
	}
	return parseProcessors(string(text))
}

// parseProcessors reads the first line of /proc/stat: see proc_stat(5).
func parseProcessors(text string) (p processors, err error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return p, fmt.Errorf("/proc/stat begins with %q", line)
	}
	var t [8]time.Duration // user, nice, system, idle, iowait, irq, softirq, steal
	for i := range t {
		n, err := strconv.ParseInt(fields[i+1], 10, 64)
		if err != nil {
			return p, fmt.Errorf("/proc/stat: %w", err)
		}
		t[i] = time.Duration(n) * tick
		p.all += t[i]
	}
	p.idle, p.disk = t[3], t[4]
	return p, nil
}

// own returns the time of this process and of its descendants that have ended.
func own() (sum time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// processes returns the time of each other process that runs: see proc_pid_stat(5).
func processes() map[string]time.Duration {
	all := map[string]time.Duration{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended
		end := strings.LastIndexByte(string(text), ')')
		if end < 0 || filepath.Base(filepath.Dir(file)) == strconv.Itoa(os.Getpid()) {
			continue
		}
		fields := strings.Fields(string(text[end+1:]))
		if len(fields) < 13 {
			continue
		}
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		all[string(text[:end+1])] = time.Duration(user+system) * tick
	}
	return all
}

// busiest returns the processes that used most, as "PID (name)".
func busiest(before, after map[string]time.Duration) (names []string) {
	for name, used := range after {
		if used > before[name] {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(after[b]-before[b], after[a]-before[a]), strings.Compare(a, b))
	})
	return names[:min(3, len(names))]
}
