package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// used is the CPU time of a process, in seconds, by its ticks of 10 ms.
func used(t *testing.T, p Process) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	if err1 != nil || err2 != nil {
		t.Fatalf("%q", f)
	}
	return float64(user+system) / 100
}

// throttled is in how many periods a host has used up its quota.
func throttled(t *testing.T, h *Host) int {
	t.Helper()
	text, err := os.ReadFile(h.cpu.file("cpu.stat"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "nr_throttled "); ok {
			v, err := strconv.Atoi(strings.TrimSpace(n))
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("cpu.stat: %s", text)
	return 0
}

// TestStarve gives two busy processes, one of them in its own session, 2 % of a CPU
// together, and later all that they want.
func TestStarve(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, CPU, Options{})
	start(t, h.Command("/bin/sh", "-c", "setsid sh -c 'while true; do :; done' & while true; do :; done"))
	var busy []Process
	until(t, "both are busy", func() bool {
		busy = h.cpu.processes()
		return len(busy) == 2 && used(t, busy[0]) > 0 && used(t, busy[1]) > 0
	})
	sum := func() float64 { return used(t, busy[0]) + used(t, busy[1]) }
	if err := h.Starve(2); err != nil {
		t.Fatal(err)
	}
	until(t, "the quota is used up", func() bool { return throttled(t, h) >= 2 })
	began, before, periods := time.Now(), sum(), throttled(t, h)
	until(t, "a second has passed", func() bool { return throttled(t, h) >= periods+10 })
	if share := (sum() - before) / time.Since(began).Seconds(); share > 0.06 { // the ticks are coarse
		t.Errorf("they had %.1f %% of a CPU, want 2", 100*share)
	}
	if err := h.Feed(); err != nil {
		t.Fatal(err)
	}
	began, before = time.Now(), sum()
	until(t, "they have a tenth of a second", func() bool { return sum() >= before+0.1 })
	if d := time.Since(began); d > 3*time.Second { // with 2 % it takes 5 s
		t.Errorf("fed, they need %v for a tenth of a second", d)
	}
}

// TestStarveStart checks that starting a command on a host without CPU does not block
// this process.
func TestStarveStart(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, CPU, Options{})
	start(t, h.Command("/bin/sh", "-c", "while true; do :; done"))
	if err := h.Starve(1); err != nil {
		t.Fatal(err)
	}
	until(t, "the quota is used up", func() bool { return throttled(t, h) >= 2 })
	p := start(t, h.Command("/bin/sleep", "1000"))
	until(t, "it sleeps", func() bool { return startedBy(p.PID)[0] == "sleep" })
}

// TestMounted reads what other systems have in /proc.
func TestMounted(t *testing.T) {
	t.Parallel()
	const mounts = `24 1 0:21 / /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,memory
25 1 0:22 / /sys/fs/cgroup/cpu,cpuacct rw shared:2 - cgroup cgroup rw,cpu,cpuacct
26 1 0:23 /docker/1 /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`
	for _, c := range []struct{ kind, option, path, want string }{
		{"cgroup", "cpu", "/", "/sys/fs/cgroup/cpu,cpuacct"},
		{"cgroup", "cpu", "/a/b", "/sys/fs/cgroup/cpu,cpuacct/a/b"},
		{"cgroup2", "", "/docker/1/x", "/sys/fs/cgroup/unified/x"},
		{"cgroup2", "", "/docker/2", ""},
		{"cgroup", "pids", "/", ""},
	} {
		if got, err := mounted(mounts, c.kind, c.option, c.path); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// deadName is a name that a dead process would have given.
func deadName(t *testing.T, h *Host) string {
	t.Helper()
	c := h.Command("/bin/true")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s%d-x", prefix, c.Process.Pid)
}

// TestSweep leaves a cgroup and a mount of a dead process, and others of a living one.
func TestSweep(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, CPU, Options{})
	newHostWith(t, Space, Options{})
	old := deadName(t, h)
	group := filepath.Join(filepath.Dir(h.cpu.dir), old)
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mount(t, old, dir)
	sweep()
	if _, err := os.Stat(group); !os.IsNotExist(err) {
		t.Errorf("the cgroup is left: %v", err)
	}
	if text, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(text), dir) {
		t.Errorf("the mount is left, or %v", err)
	}
	if _, err := os.Stat(h.cpu.dir); err != nil {
		t.Errorf("that of a living process is gone: %v", err)
	}
	if err := h.disk.Fill(); err != nil {
		t.Errorf("that of a living process is gone: %v", err)
	}
}
