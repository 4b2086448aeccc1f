//go:build bench && linux

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
)

// idle measures what holders and waiters use of a processor while nothing happens. All are
// watched at the same time.
func (b *bench) idle(t *testing.T) section {
	const pairs = 5
	server := etcdtest.Start(t, etcdtest.Options{})
	dir := filepath.Join(t.TempDir(), "locks")
	ours, peer := b.leaderrun(), b.lock()
	onFile := func(lock string) command {
		return command{argv: []string{b.core, "-b", "file://" + dir, "-l", lock, "--", "sleep", "1000"}}
	}
	onEtcd := func(c contender) func(string) command {
		return func(lock string) command { return on(server, c.argv(lock), "sleep", "1000") }
	}
	var holders, waiters []*exec.Cmd // of each party in turn
	for i := range pairs {
		lock := fmt.Sprint("idle", i)
		for _, make := range []func(string) command{onFile, onEtcd(ours), onEtcd(peer)} {
			holder, waiter := b.pair(t, make(lock))
			holders, waiters = append(holders, holder), append(waiters, waiter)
		}
	}
	time.Sleep(2 * renewal)
	all := append(slices.Clone(holders), waiters...)
	before := demands(all)
	time.Sleep(window)
	after := demands(all)

	cpu, switches, pss, threads := make([]sample, 6), make([]sample, 6), make([]sample, 6), make([]sample, 6)
	for i := range all {
		party := i%3 + i/len(holders)*3
		cpu[party] = append(cpu[party], ms(after[i].cpu-before[i].cpu))
		switches[party] = append(switches[party], float64(after[i].switches-before[i].switches))
		pss[party] = append(pss[party], after[i].pss/megabyte)
		threads[party] = append(threads[party], float64(after[i].threads))
	}
	s := section{
		title:    "A minute in which nothing happens, at the default ttl: all processes but the job",
		commands: []string{onFile("x").shown(), onEtcd(ours)("x").shown(), onEtcd(peer)("x").shown()},
		notes:    []string{"Read in /proc: the time on a processor, how often a thread left one, and the memory in use. What processes share counts in parts, and here each program runs several times."},
	}
	for i, who := range []string{"holder", "waiter"} {
		mostCPU := []float64{50, 25}[i]
		mostThreads := [][]float64{{0, 0}, {16, 26}}[i]
		s.figures = append(s.figures,
			atMost("a "+who+" on file", "ms of CPU", cpu[3*i], mostCPU),
			atMost("a "+who+" on file", "context switches", switches[3*i], 0),
			atMost("a "+who+" on file", "threads", threads[3*i], mostThreads[0]),
			besides(atMost("a "+who+" on etcd", "ms of CPU", cpu[3*i+1], mostCPU), cpu[3*i+2]),
			besides(atMost("a "+who+" on etcd", "context switches", switches[3*i+1], 0), switches[3*i+2]),
			besides(atMost("a "+who+" on etcd", "threads", threads[3*i+1], mostThreads[1]), threads[3*i+2]),
			versus("a "+who+" on etcd, proportional set size", "MB", pss[3*i+1], pss[3*i+2], 0))
	}
	return s
}

// besides adds the peer's sample to a figure.
func besides(f figure, peer sample) figure {
	f.peer = peer
	return f
}

// pair starts a command, and when it runs its job, the command again.
func (b *bench) pair(t *testing.T, c command) (holder, waiter *exec.Cmd) {
	t.Helper()
	begin := func() *exec.Cmd {
		cmd := b.prepare(c)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { endTree(cmd) })
		return cmd
	}
	holder = begin()
	await(t, "job", func() bool {
		return slices.ContainsFunc(tree(holder.Process.Pid), func(pid int) bool { return isRunning(pid, "sleep") })
	})
	return holder, begin()
}

// A demand is what processes have used since they were started, and the memory that they
// have now.
type demand struct {
	cpu      time.Duration
	switches int
	threads  int
	pss      float64 // in bytes; what processes share counts in parts
	// anonymous is the part of it that is no file's. The kernel drops the others as it likes.
	anonymous float64
}

// demands returns what each command and its descendants have used, without the job.
func demands(commands []*exec.Cmd) (all []demand) {
	for _, cmd := range commands {
		var d demand
		for _, pid := range tree(cmd.Process.Pid) {
			if !isRunning(pid, "sleep") {
				d.add(pid)
			}
		}
		all = append(all, d)
	}
	return all
}

// add adds a process and its threads; see sched-stats, proc_pid_status(5) and
// proc_pid_smaps(5).
func (d *demand) add(pid int) {
	rollup, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for name, sum := range map[string]*float64{"Pss": &d.pss, "Pss_Anon": &d.anonymous} {
		_, after, _ := strings.Cut(string(rollup), "\n"+name+":")
		var kib float64
		_, _ = fmt.Sscan(after, &kib) // nothing if the process has ended
		*sum += kib * 1024
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // the pattern is valid
	d.threads += len(threads)
	for _, thread := range threads {
		var ns int64
		stat, _ := os.ReadFile(filepath.Join(thread, "schedstat")) // the kernel prints a number first
		_, _ = fmt.Sscan(string(stat), &ns)
		d.cpu += time.Duration(ns)
		status, _ := os.ReadFile(filepath.Join(thread, "status"))
		for line := range strings.Lines(string(status)) {
			var n int
			if _, count, ok := strings.Cut(line, "ctxt_switches:"); ok {
				_, _ = fmt.Sscan(count, &n)
			}
			d.switches += n
		}
	}
}
