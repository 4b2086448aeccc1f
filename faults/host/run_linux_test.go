package host

import (
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// toys are the directory of a backend in shell, with a store of files.
const toys = "../../locks/helper"

// TestLook finds the processes of a real leaderrun, and checks that the host's cgroup
// has all of them, including those of the job, which is in its own cgroup.
func TestLook(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, CPU, Options{})
	helpers, err := filepath.Abs(toys)
	if err != nil {
		t.Fatal(err)
	}
	for name, backend := range map[string]string{
		"file": "file://" + t.TempDir() + "/locks",
		"toy":  "toy://" + t.TempDir(),
	} {
		c := h.Command(build(t), "-b", backend, "-l", "a", "-c", "setsid sleep 1000 & exec sleep 1001")
		c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "SHELL=/bin/sh", "LEADERRUN_LIBEXEC=" + helpers}
		leader := start(t, c)
		var r Run
		until(t, name+": all of them are there", func() bool {
			r = Now().Look(leader.PID)
			return startedBy(r.Job.PID) == [2]string{"sleep", "1001"} && slices.ContainsFunc(r.Rest, func(p Process) bool {
				return startedBy(p.PID) == [2]string{"sleep", "1000"}
			})
		})
		if r.Leaderrun != leader || startedBy(r.Guard.PID)[0] != guardName {
			t.Errorf("%s: %+v", name, r)
		}
		if got := startedBy(r.Helper.PID)[1]; (got == "leaderrun-toy") != (name == "toy") || name == "file" && r.Helper != (Process{}) {
			t.Errorf("%s: helper %+v, %q", name, r.Helper, got)
		}
		all := h.cpu.processes()
		for _, p := range append(r.Rest, r.Leaderrun, r.Guard, r.Job) {
			if !slices.Contains(all, p) {
				t.Errorf("%s: %v is not in the host's cgroup", name, startedBy(p.PID))
			}
		}
		if err := h.Signal(leader, unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		until(t, name+": all of them are gone", func() bool {
			return leader.check() != nil && r.Guard.check() != nil && r.Job.check() != nil
		})
		if r := Now().Look(leader.PID); r.Leaderrun.PID != 0 || r.Guard.PID != 0 || len(r.Rest) != 0 {
			t.Errorf("%s: of nothing it found %+v", name, r)
		}
	}
}
