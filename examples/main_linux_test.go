package examples

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/cmd"
	"github.com/leaderrun/leaderrun/locks/backend/etcd"
	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/runner/monitor"
)

// TestMain makes the programs that the examples use commands in PATH.
func TestMain(m *testing.M) {
	// The tests wait most of their time, but start many programs, and other packages'
	// tests run beside them.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	core := func() { os.Exit(cmd.Main(os.Args, cmd.NewEnv(""))) }
	if os.Args[0] == "leaderrun-guard" { // leaderrun has started itself in another role
		core()
	}
	programs := map[string]func(){
		"leaderrun":         core,
		"leaderrun-etcd":    func() { os.Exit(helper.Main("etcd", etcd.Open)) },
		"leaderrun-monitor": func() { os.Exit(monitor.Main(os.Args)) },
	}
	if programs[filepath.Base(os.Args[0])] == nil {
		settle()
	}
	testscript.Main(m, programs)
}

// settle sets what tests do not take from whoever runs them: the umask that the
// examples' files are meant for, and, for root, who starts programs as other users, too,
// a directory of which these can read.
func settle() {
	syscall.Umask(0o022)
	if os.Geteuid() == 0 {
		_ = os.Setenv("TMPDIR", "/tmp") // it has no reason to fail
	}
}

// bin is the directory of these commands. Anybody may use them.
func bin(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("leaderrun")
	if err == nil {
		err = os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(path)
}

// need skips a test for want of a program, or fails it if CI=true.
func need(t *testing.T, program, debian string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("there is no %s: install Debian's package %s", program, debian)
	default:
		t.Skipf("there is no %s: install Debian's package %s", program, debian)
	}
	return path
}
