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
	"github.com/leaderrun/leaderrun/locks/backend/kubernetes"
	"github.com/leaderrun/leaderrun/locks/backend/quorum"
	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/runner/monitor"
)

// TestMain puts the programs that the examples use into PATH.
func TestMain(m *testing.M) {
	// The tests mostly wait, but they start many programs, and other packages' tests run
	// at the same time.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	core := func() { os.Exit(cmd.Main(os.Args, cmd.NewEnv(""))) }
	if os.Args[0] == "leaderrun-guard" { // leaderrun started itself in another role
		core()
	}
	programs := map[string]func(){
		"leaderrun":         core,
		"leaderrun-etcd":    func() { os.Exit(helper.Main("etcd", etcd.Open)) },
		"leaderrun-k8s":     func() { os.Exit(helper.Main("k8s", kubernetes.Open)) },
		"leaderrun-quorum":  quorumMain,
		"leaderrun-monitor": func() { os.Exit(monitor.Main(os.Args)) },
	}
	if programs[filepath.Base(os.Args[0])] == nil {
		settle()
	}
	testscript.Main(m, programs)
}

func quorumMain() {
	if len(os.Args) > 1 && os.Args[1] == "voter" {
		os.Exit(quorum.Voter(os.Args[2:]))
	}
	os.Exit(helper.Main("quorum", quorum.Open))
}

// settle makes tests independent of the user's settings: it sets the umask that the
// examples' files expect and, for root, who also starts programs as other users, a
// directory that those can read.
func settle() {
	syscall.Umask(0o022)
	if os.Geteuid() == 0 {
		_ = os.Setenv("TMPDIR", "/tmp") // cannot fail
	}
}

// bin returns the directory of these programs. Anybody may use them.
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

// need skips a test because a program is missing, or fails it if CI=true.
func need(t *testing.T, program, debian string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is missing: install Debian's package %s", program, debian)
	default:
		t.Skipf("%s is missing: install Debian's package %s", program, debian)
	}
	return path
}
