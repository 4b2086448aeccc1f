package helper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

func TestFindMonitor(t *testing.T) {
	t.Parallel()
	_, err := (&Programs{Libexec: t.TempDir()}).FindMonitor()
	checkClass(t, "without the program", err, locks.ErrUnavailable)
	if locks.Hint(err) == "" {
		t.Error("there is no hint")
	}
	dir, path := put(t, MonitorName, 0o755)
	if got, err := (&Programs{Libexec: dir}).FindMonitor(); err != nil || got != path {
		t.Errorf("got %q, %v; want %q", got, err, path)
	}
	dir, _ = put(t, MonitorName, 0o777)
	_, err = (&Programs{Libexec: dir}).FindMonitor()
	checkClass(t, "a program that anyone can write", err, locks.ErrDenied)
}

// TestMonitorEnvironment checks that leaderrun-monitor inherits nothing that is meant for
// the job or for a backend.
func TestMonitorEnvironment(t *testing.T) {
	t.Setenv("ETCDCTL_PASSWORD", "secret")
	t.Setenv("TZ", "Europe/Vienna")
	dir := t.TempDir()
	path, written := filepath.Join(dir, "leaderrun-monitor"), filepath.Join(dir, "env")
	script := "#!/bin/sh\n/usr/bin/env >" + written + "\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	monitor, err := StartMonitor(path, []string{path, "metrics"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = monitor.Input().Close()
	if !monitor.End(limit) {
		t.Fatal("the program did not end")
	}
	got := read(t, written)
	for _, name := range []string{"ETCDCTL_PASSWORD=", "HOME="} {
		if strings.Contains("\n"+got, "\n"+name) {
			t.Errorf("it has %s", name)
		}
	}
	if !strings.Contains(got, "TZ=Europe/Vienna\n") {
		t.Errorf("the program has no time zone: %s", got)
	}
}

// TestMonitorThatCannotBeKilled checks that End does not wait for a program in
// uninterruptible sleep.
func TestMonitorThatCannotBeKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		monitor := &Monitor{p: &process{reaped: true}, ended: make(chan struct{})}
		start := time.Now()
		if monitor.End(time.Second) {
			t.Error("End reports that the program has ended")
		}
		if took := time.Since(start); took != time.Second+killTimeout {
			t.Errorf("End waited %v", took)
		}
	})
}
