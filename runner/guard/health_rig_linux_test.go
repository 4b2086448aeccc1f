package guard_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// inEachTier runs a test in each tier that is available here.
func inEachTier(t *testing.T, test func(*testing.T, *guard.Client, guard.Tier)) {
	t.Helper()
	for _, tier := range guard.Tiers() {
		t.Run(string(tier), func(t *testing.T) {
			t.Parallel()
			g := begin(t)
			if err := g.Contain(tier); err != nil {
				t.Skip(err)
			}
			test(t, g, tier)
		})
	}
}

// check starts a shell script as a health check.
func (s script) check(text string) proc.HealthCheck {
	s.t.Helper()
	a, err := s.CheckHealth(s.command(text))
	if err != nil {
		s.t.Fatal(err)
	}
	s.adopt[guard.GroupOf(a)] = true
	return a
}

// ended waits until the health check has ended.
func (s script) ended(a proc.HealthCheck) proc.Exit {
	s.t.Helper()
	select {
	case <-a.Done():
	case <-time.After(patience):
		s.t.Fatal("the health check has not ended")
	}
	return a.Exit()
}

// goesOn checks that the job still runs.
func (s script) goesOn() {
	s.t.Helper()
	select {
	case <-s.Exited():
		s.t.Fatal("the first process has ended")
	case <-s.Suspended():
		s.t.Error("the first process counts as suspended")
	default:
	}
	if state, _, _, ok := stat(s.PID()); proc.IsClosed(s.Gone()) || !ok || state == "Z" {
		s.t.Errorf("the job is gone, or its first process is dead: state %q", state)
	}
}

// touch makes the file for which a script waits with await.
func (s script) touch(name string) {
	s.t.Helper()
	write(s.t, filepath.Join(s.dir, name), "", 0o600)
}

// await returns a shell command that waits for a file.
func await(name string) string {
	return ` while ! test -e $D/` + name + `; do sleep 0.01; done; `
}

// alive returns the processes of the job and of the health check whose arguments begin with a
// text.
func (s script) alive(text string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range paths {
		args, _ := os.ReadFile(path + "/cmdline")
		if !strings.HasPrefix(strings.ReplaceAll(string(args), "\x00", " "), text) {
			continue
		}
		if env, _ := os.ReadFile(path + "/environ"); bytes.Contains(env, []byte("D="+s.dir)) {
			pid, _ := strconv.Atoi(filepath.Base(path))
			pids = append(pids, pid)
		}
	}
	return pids
}
