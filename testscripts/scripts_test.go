package testscripts

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// A suite is a set of scripts, and the programs that they run.
type suite struct {
	name     string // a prefix for locks on shared servers; may be ""
	programs []*programs.Programs
	shared   *sharedServer
	backend  string // the scheme of the one that the script is about, or ""
}

// everyBackend is the script that is run with each backend that is a helper program, as a test
// with that backend's name at its end. With the bundle it runs with etcd, in long tests with all.
const everyBackend = "every-backend"

func (s suite) backends() []string {
	if s.name != "" && !tester.Long() {
		return []string{"etcd"}
	}
	return known.Helpers()
}

// inBundle returns the scripts of what may differ if backends and leaderrun-monitor are
// linked into leaderrun. In long tests those of each backend are among them.
func inBundle() []string {
	all := []string{"abilities", "doctor-gcs", "etcd", "etcd-lost", "etcd-nested", "etcd-secrets", everyBackend, "guard", "health", "linked", "metrics", "metrics-etcd", "nested-between", "version"}
	if tester.Long() {
		all = append(slices.DeleteFunc(all, func(name string) bool { return name == "etcd" }), known.Helpers()...)
	}
	return all
}

// withRaces are scripts with much concurrency. They run the whole core under the race
// detector, in addition to the tests of its parts.
var withRaces = []string{"etcd-lost", "events", "guard", "hooks", "metrics", "resign", "signals", "watch"}

// TestScripts runs the *.txtar scripts. See commands_test.go for the commands that
// scripts have in addition to testscript's own.
func TestScripts(t *testing.T) {
	t.Parallel()
	buildReleased(t)
	shared := &sharedServer{parent: t}
	suite{programs: []*programs.Programs{&released}, shared: shared}.run(t, nil)
	t.Run("bundle", func(t *testing.T) {
		t.Parallel()
		build(t, &bundle, programs.Leaderrun)
		suite{name: "bundle-", programs: []*programs.Programs{&bundle}, shared: shared}.run(t, inBundle())
	})
	t.Run("race", func(t *testing.T) {
		t.Parallel()
		if !detectsRaces {
			t.Skip("without -race")
		}
		build(t, &raced, "./testdata/leaderrun")
		suite{name: "race-", programs: []*programs.Programs{&raced, &released}, shared: shared}.run(t, withRaces)
	})
}

// run runs some scripts, or all.
func (s suite) run(t *testing.T, names []string) {
	if names == nil {
		files, _ := filepath.Glob("*.txtar") // the pattern is valid
		for _, file := range files {
			names = append(names, strings.TrimSuffix(file, ".txtar"))
		}
	}
	for _, name := range names {
		if name != everyBackend {
			s.start(t, name, name)
			continue
		}
		for _, s.backend = range s.backends() {
			s.start(t, name, name+"-"+s.backend)
		}
		s.backend = ""
	}
}

// start runs a script as a parallel test. If it fails on a busy machine, it runs again.
func (s suite) start(t *testing.T, name, test string) {
	deadline, _ := t.Deadline()
	t.Run(test, func(t *testing.T) {
		t.Parallel()
		trial.Steady(t, func(tb testing.TB, scale int) {
			testscript.RunT(script{tb, scale}, testscript.Params{
				Files:               []string{name + ".txtar"},
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
				Setup:               s.setup,
				Condition:           s.condition,
				Cmds:                scriptCommands(),
				Deadline:            deadline,
			})
		})
	})
}

// A script is what package testscript calls a T, for one script in one attempt.
type script struct {
	testing.TB
	scale int // differs in each attempt
}

// Run implements testscript.T.
func (s script) Run(_ string, f func(testscript.T)) { f(s) }

// Parallel implements testscript.T: the test is parallel already.
func (script) Parallel() {}

// Verbose implements testscript.T.
func (script) Verbose() bool { return testing.Verbose() }

// setup gives each script a home, a directory for its locks and a short program to run,
// and nothing of the tester's environment except PATH.
func (s suite) setup(env *testscript.Env) error {
	home, bin := filepath.Join(env.WorkDir, "home"), filepath.Join(env.WorkDir, ".bin")
	for _, dir := range []string{home, bin} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "stay"), []byte(stay), 0o755); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for name, path := range map[string]string{"asuser": self, "monitor": released.Path("leaderrun-monitor")} {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Dir(env.WorkDir), 0o755); err != nil { // for asuser
		return err
	}
	tb, path := env.T().(script), []string{bin}
	for _, p := range s.programs {
		path = append(path, p.Dir())
	}
	env.Setenv("HOME", home)
	env.Setenv("NAME", fmt.Sprint(s.name, filepath.Base(tb.Name()), "-", tb.scale))
	env.Setenv("LEADERRUN_CONFIG", os.DevNull)
	env.Setenv("LEADERRUN_FILE_DIR", filepath.Join(env.WorkDir, "locks"))
	env.Setenv("PATH", strings.Join(append(path, os.Getenv("PATH")), string(filepath.ListSeparator)))
	env.Setenv("PROGRAMS", s.programs[0].Dir())
	env.Setenv("GORACE", "atexit_sleep_ms=0") // skip the race detector's second at each exit
	env.Values[worldKey{}] = newWorld(env, s)
	return nil
}

// stay is a job that runs until it is told to end.
const stay = `#!/bin/sh
# stay FILE: writes its process id into FILE, and ends when its exit status is
# written into FILE.end.
mkfifo "$1.end" && echo $$ >"$1.new" && mv "$1.new" "$1" && read code <"$1.end"
exit "${code:-0}"
`

// condition evaluates the conditions of scripts in addition to testscript's own.
func (s suite) condition(name string) (bool, error) {
	if slices.Contains(known.Schemes(), name) {
		return name == s.backend, nil
	}
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "bundle":
		return s.programs[0].Bundle, nil
	case "configured": // the machine has a config file, which cannot be hidden
		_, err := os.Stat("/etc/leaderrun/config.yaml")
		return err == nil, nil
	case "tini":
		_, err := exec.LookPath(name)
		return err == nil, nil
	case "cpu-quota":
		return hasQuota(), nil
	case "namespaces": // a mount that no other process sees
		return exec.Command("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt").Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// hasQuota reports whether the CPU time of a cgroup can be limited, with cgroups of
// version 1 or 2.
func hasQuota() bool {
	v1, _ := os.ReadFile("/sys/fs/cgroup/cpu/cpu.stat")
	v2, _ := os.ReadFile("/sys/fs/cgroup/cgroup.subtree_control")
	return bytes.Contains(v1, []byte("nr_throttled")) || slices.Contains(strings.Fields(string(v2)), "cpu")
}
