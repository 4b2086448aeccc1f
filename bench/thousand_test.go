//go:build bench && linux

package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
)

// thousand measures a host that holds a thousand locks on etcd for a minute in which nothing happens.
// All of them must be held at its end. Then all are told to end at the same moment, which keeps the
// processors busy: a release that takes longer than its limit is counted, and its lock ends with its
// lease. It takes some 7 GB.
func (b *bench) thousand(t *testing.T) string {
	const locks, atOnce = 1000, 10
	server := etcdtest.Start(t, etcdtest.Options{})
	client := server.Client()
	defer client.Close()
	b.rewind(t)
	begun := time.Now()
	var all []*exec.Cmd
	for i := range locks {
		cmd := b.prepare(command{argv: []string{b.core, "-b", "etcd://" + server.Addr(), "-l", fmt.Sprint("lock-", i), "--", "sleep", "1000"}})
		cmd.Stderr = b.stderr
		must(t, cmd.Start())
		t.Cleanup(func() { endTree(cmd) })
		all = append(all, cmd)
		if len(all)%atOnce == 0 {
			await(t, "job", func() bool { return !slices.ContainsFunc(all[len(all)-atOnce:], jobless) })
		}
	}
	started := time.Since(begun)
	time.Sleep(2 * renewal)
	before := total(demands(all))
	time.Sleep(window)
	after := total(demands(all))
	lost := 0
	for _, cmd := range all {
		if jobless(cmd) {
			lost++
		}
	}
	// What we have read in /proc makes it slower for the kernel to end these processes, unless it
	// forgets it first, for which we must be root.
	_ = os.WriteFile("/proc/sys/vm/drop_caches", []byte("2"), 0)
	begun = time.Now()
	for _, cmd := range all {
		must(t, cmd.Process.Signal(unix.SIGTERM))
	}
	for _, cmd := range all {
		_ = cmd.Wait()
		if status := programs.Status(cmd.ProcessState); status != 128+int(unix.SIGTERM) {
			t.Errorf("%v ended with %d", cmd.Args, status)
		}
	}
	ended := time.Since(begun)
	said, err := os.ReadFile(b.stderr.Name())
	must(t, err)
	const late = "warning: the lock could not be released; it is free when its lease ends"
	unreleased := bytes.Count(said, []byte(late))
	if lost > 0 || bytes.Count(said, []byte("\n")) > unreleased {
		t.Errorf("%d of the jobs are gone; stderr: %q", lost, said[:min(len(said), 1000)])
	}
	// Records may stay: whoever took a second or more to stop has said so in one.
	await(t, "end of all leases", func() bool {
		all, err := client.Leases(t.Context())
		must(t, err)
		return len(all.Leases) == 0
	})
	return fmt.Sprintf("| locks | started, %d at a time | processors in use while nothing happens | threads | memory, MB; of that no file's | ended, all at once | not released in time |\n|--:|--:|--:|--:|--:|--:|--:|\n"+
		"| %d | in %.1f s | %.3f | %d | %.0f; %.0f | in %.1f s | %d |\n",
		atOnce, locks, started.Seconds(), (after.cpu-before.cpu).Seconds()/window.Seconds(), after.threads, after.pss/megabyte, after.anonymous/megabyte, ended.Seconds(), unreleased)
}

// jobless reports whether the job of a leaderrun does not run.
func jobless(cmd *exec.Cmd) bool {
	return !slices.ContainsFunc(tree(cmd.Process.Pid), func(pid int) bool { return isRunning(pid, "sleep") })
}

func total(all []demand) (sum demand) {
	for _, d := range all {
		sum.cpu += d.cpu
		sum.threads += d.threads
		sum.pss += d.pss
		sum.anonymous += d.anonymous
	}
	return sum
}
