//go:build bench && linux

package bench

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// established is how long a process must have lived to count. A process that was just
// forked still shares the memory of its parent, until it executes its program or ends.
const established = 100 * time.Millisecond

// A footprint is what was observed of a process.
type footprint struct {
	first, last time.Time
	peak        float64 // resident size in bytes
	job         bool
}

// peakRSS runs a command with the given job appended, reads every millisecond the peak
// resident size (VmHWM) of its processes, and returns their sum in bytes, without the
// job. The rusage of a child would be wrong: it begins with the size of the process that
// forked it. The job must last longer than established.
func (b *bench) peakRSS(t *testing.T, c command, job ...string) float64 {
	t.Helper()
	c.argv = slices.Concat(c.argv, job)
	b.rewind(t)
	cmd := b.prepare(c)
	cmd.Stderr = b.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	seen := map[int]footprint{}
	for {
		now := time.Now()
		for _, pid := range tree(cmd.Process.Pid) {
			p := seen[pid]
			if p.first.IsZero() {
				p.first = now
			}
			p.last, p.peak, p.job = now, max(p.peak, hwm(pid)), p.job || isRunning(pid, job[0])
			seen[pid] = p
		}
		select {
		case err := <-ended:
			b.check(t, c, err)
			return sum(seen)
		case <-time.After(time.Millisecond):
		}
	}
}

func sum(seen map[int]footprint) (bytes float64) {
	for _, p := range seen {
		if !p.job && p.last.Sub(p.first) >= established {
			bytes += p.peak
		}
	}
	return bytes
}

// hwm returns a process's peak resident size in bytes, or 0 if it is gone.
func hwm(pid int) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(b), "VmHWM:")
	var kib float64
	_, _ = fmt.Sscan(after, &kib)
	return kib * 1024
}

func isRunning(pid int, program string) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return bytes.HasPrefix(b, append([]byte(program), 0))
}

// fileSize returns the size of a program in bytes.
func fileSize(t *testing.T, path string) float64 {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return float64(fi.Size())
}
