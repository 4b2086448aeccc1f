//go:build unix

package helper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestToolEnvironment checks that a tool, which keeps no locks, does not get variables
// for the job or for a backend.
func TestToolEnvironment(t *testing.T) {
	t.Setenv("ETCDCTL_PASSWORD", "secret")
	t.Setenv("TZ", "Europe/Vienna")
	dir := t.TempDir()
	path, told := filepath.Join(dir, "leaderrun-told"), filepath.Join(dir, "env")
	script := "#!/bin/sh\n/usr/bin/env >" + told + "\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	tool, err := StartTool(path, path, "told", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = tool.Input().Close()
	if !tool.End(limit) {
		t.Fatal("the tool did not end")
	}
	got := read(t, told)
	for _, name := range []string{"ETCDCTL_PASSWORD=", "HOME="} {
		if strings.Contains("\n"+got, "\n"+name) {
			t.Errorf("it has %s", name)
		}
	}
	if !strings.Contains(got, "TZ=Europe/Vienna\n") {
		t.Errorf("the tool has no time zone: %s", got)
	}
}

// TestToolThatCannotBeKilled checks that End does not wait for a tool in uninterruptible
// sleep.
func TestToolThatCannotBeKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := &Tool{p: &process{reaped: true}, ended: make(chan struct{})}
		start := time.Now()
		if tool.End(time.Second) {
			t.Error("End reports that the tool has ended")
		}
		if took := time.Since(start); took != time.Second+killTimeout {
			t.Errorf("End waited %v", took)
		}
	})
}
