package realserver

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStop checks that a server that ignores its stop signal is killed, and no other. It
// ends before the parallel tests go on: a fork holds a port that is given back for a moment.
func TestStop(t *testing.T) {
	for _, c := range []struct {
		name, script, end string
		patience          time.Duration
	}{
		{"orderly", "echo up; exec sleep 60", "signal: terminated", orderly},
		{"ignored", "trap '' TERM; echo up; exec sleep 60", "signal: killed", 50 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := &Process{TB: t, Path: "/bin/sh", Args: []string{"-c", c.script}, LogFile: filepath.Join(t.TempDir(), "log")}
			p.Start()
			p.WaitReady(func() bool { return strings.Contains(p.Log(), "up") })
			p.stop(c.patience)
			if got := p.cmd.ProcessState.String(); got != c.end {
				t.Errorf("%s, want %s", got, c.end)
			}
		})
	}
}
