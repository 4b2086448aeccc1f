//go:build bench && linux

package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
)

// storm starts many jobs with different locks at the same moment, as crons of many hosts do.
func (b *bench) storm(t *testing.T) section {
	const jobs, rounds = 200, 3
	server := etcdtest.Start(t, etcdtest.Options{})
	dir := t.TempDir()
	parties := []struct {
		what string
		of   func(lock string) command
	}{
		{"file", func(lock string) command {
			return command{argv: []string{b.core, "-b", "file://" + filepath.Join(dir, "locks"), "-l", lock, "--", "true"}}
		}},
		{"flock", func(lock string) command {
			return command{argv: []string{look(t, "flock"), filepath.Join(dir, lock), "true"}}
		}},
		{"etcd", func(lock string) command { return on(server, b.leaderrun().argv(lock), "true") }},
		{"etcdctl", func(lock string) command { return on(server, b.lock().argv(lock), "true") }},
	}
	all, cpu, late := make([]sample, len(parties)), make([]sample, len(parties)), make([]sample, len(parties))
	for range rounds {
		for i, p := range parties {
			took, used, each := b.atOnce(t, jobs, p.of)
			all[i], cpu[i], late[i] = append(all[i], ms(took)), append(cpu[i], ms(used)), append(late[i], each...)
		}
	}
	s := section{title: fmt.Sprintf("A storm: %d jobs with different locks, started at the same moment", jobs)}
	for _, p := range parties {
		s.commands = append(s.commands, p.of("x").shown())
	}
	for i := 0; i < len(parties); i += 2 {
		s.figures = append(s.figures,
			versus(parties[i].what+", CPU of all", "ms", cpu[i], cpu[i+1], 0),
			versus(parties[i].what+", until the last has ended", "ms", all[i], all[i+1], 0),
			versus(parties[i].what+", until one has ended", "ms", late[i], late[i+1], 0))
	}
	return s
}

// atOnce runs n commands, and returns how long they took, and what they used.
func (b *bench) atOnce(t *testing.T, n int, of func(lock string) command) (took, cpu time.Duration, each sample) {
	t.Helper()
	b.rewind(t)
	var all []*exec.Cmd
	for i := range n {
		cmd := b.prepare(of(fmt.Sprint("storm-", i)))
		cmd.Stderr = b.stderr
		all = append(all, cmd)
	}
	var before, after unix.Rusage
	must(t, unix.Getrusage(unix.RUSAGE_CHILDREN, &before))
	start := time.Now()
	errs, ends := make([]error, n), make([]time.Duration, n)
	var wg sync.WaitGroup
	for i, cmd := range all {
		wg.Go(func() {
			errs[i] = cmd.Run()
			ends[i] = time.Since(start)
		})
	}
	wg.Wait()
	took = time.Since(start)
	must(t, unix.Getrusage(unix.RUSAGE_CHILDREN, &after))
	for i, cmd := range all {
		b.check(t, command{argv: cmd.Args}, errs[i])
		each = append(each, ms(ends[i]))
	}
	return took, time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()), each
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
