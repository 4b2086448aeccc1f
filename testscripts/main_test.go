//go:build unix

package testscripts

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/cmd"
	"github.com/leaderrun/leaderrun/locks/etcd"
	"github.com/leaderrun/leaderrun/locks/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/gcs"
	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/locks/zookeeper"
	"github.com/leaderrun/leaderrun/locks/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/runner/metrics"
	"github.com/leaderrun/leaderrun/runner/probe"
)

// TestMain makes the programs of this module commands of the scripts.
func TestMain(m *testing.M) {
	// Scripts wait most of their time; a machine of two cores runs many at once.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	switch os.Args[0] { // leaderrun has started itself in another role
	case "leaderrun-guard":
		quit(cmd.Main(os.Args, newEnv()))
	case "lr-probe", "lr-metrics":
		os.Exit(cmd.Main(os.Args, newEnv()))
	}
	testscript.Main(m, map[string]func(){
		"leaderrun":         func() { os.Exit(cmd.Main(os.Args, newEnv())) },
		"leaderrun-etcd":    func() { os.Exit(helper.Main("etcd", etcd.Open)) },
		"leaderrun-gcs":     func() { os.Exit(helper.Main("gcs", gcs.Open)) },
		"leaderrun-metrics": func() { os.Exit(metrics.Main(os.Args)) },
		"leaderrun-probe":   func() { os.Exit(probe.Main(os.Args)) },
		"leaderrun-zk":      func() { os.Exit(helper.Main("zk", zookeeper.Open)) },
		"asuser":            asUser,
	})
}

// newEnv is that of a program that was built without the Makefile's variables.
func newEnv() cmd.Env { return cmd.NewEnv("") }

// TestScripts runs what a user sees, in *.txtar. See commands_test.go for the
// commands that scripts have besides testscript's own.
func TestScripts(t *testing.T) {
	t.Parallel()
	heedSignals()
	shared := &sharedServer{parent: t}
	testscript.Run(t, testscript.Params{
		Dir:                 ".",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setup(env, shared) },
		Condition:           condition,
		Cmds:                scriptCommands(),
	})
}

// heedSignals sees to it that scripts are not started with signals ignored, as
// programs in the background of a shell script are: what is caught here is
// reset in them.
func heedSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// setup gives each script a home, a place for its locks and a short program to
// run, and nothing of the tester's environment but PATH.
func setup(env *testscript.Env, shared *sharedServer) error {
	home, bin := filepath.Join(env.WorkDir, "home"), filepath.Join(env.WorkDir, ".bin")
	for _, dir := range []string{home, bin} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "stay"), []byte(stay), 0o755); err != nil {
		return err
	}
	programs, err := exec.LookPath("leaderrun")
	if err != nil {
		return err
	}
	programs = filepath.Dir(programs)
	for _, dir := range []string{filepath.Dir(programs), filepath.Dir(env.WorkDir)} {
		if err := os.Chmod(dir, 0o755); err != nil { // for asuser
			return err
		}
	}
	env.Setenv("HOME", home)
	env.Setenv("LEADERRUN_CONFIG", os.DevNull)
	env.Setenv("LEADERRUN_FILE_DIR", filepath.Join(env.WorkDir, "locks"))
	env.Setenv("PATH", strings.Join([]string{bin, programs, os.Getenv("PATH")}, string(filepath.ListSeparator)))
	env.Setenv("PROGRAMS", programs)
	env.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector's second at each exit
	env.Values[worldKey{}] = &world{tb: env.T().(testing.TB), shared: shared, jobs: map[string]*job{}}
	return nil
}

// stay is a job that runs until it is told to end.
const stay = `#!/bin/sh
# stay FILE: writes its process id into FILE, and ends when its exit status is
# written into FILE.end.
mkfifo "$1.end" && echo $$ >"$1.new" && mv "$1.new" "$1" && read code <"$1.end"
exit "${code:-0}"
`

// condition knows the conditions of scripts besides testscript's own.
func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "bundle":
		return slices.Contains(newEnv().Registry.Schemes(), "etcd"), nil
	case "tini":
		_, err := exec.LookPath(name)
		return err == nil, nil
	case "cpu-quota":
		return hasQuota(), nil
	case "namespaces": // a mount that nobody else sees
		return exec.Command("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt").Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// hasQuota reports whether a cgroup of ours could be kept from the processor,
// with cgroups of version 1 or 2.
func hasQuota() bool {
	v1, _ := os.ReadFile("/sys/fs/cgroup/cpu/cpu.stat")
	v2, _ := os.ReadFile("/sys/fs/cgroup/cgroup.subtree_control")
	return bytes.Contains(v1, []byte("nr_throttled")) || slices.Contains(strings.Fields(string(v2)), "cpu")
}

// A sharedServer is one etcd server, and one ZooKeeper server, for the scripts
// that need nothing special of it, started by the first of them.
type sharedServer struct {
	parent *testing.T
	start  sync.Once
	server *etcdtest.Server

	startZK sync.Once
	zk      *zktest.Server
}

func (s *sharedServer) get(tb testing.TB) *etcdtest.Server {
	etcdtest.Binary(tb, "", "etcd") // if there is none, it is the script that is skipped
	s.start.Do(func() { s.server = etcdtest.Start(s.parent, etcdtest.Options{}) })
	return s.server
}

func (s *sharedServer) getZK(tb testing.TB) *zktest.Server {
	zktest.Require(tb) // if there is none, it is the script that is skipped
	s.startZK.Do(func() { s.zk = zktest.Start(s.parent, zktest.Options{}) })
	return s.zk
}
