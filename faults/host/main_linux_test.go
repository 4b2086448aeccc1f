package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// patience bounds what must happen at some time.
const patience = 60 * time.Second

// program is the directory of the leaderrun that was built for this test process.
var program struct {
	once sync.Once
	dir  string
	err  error
}

// roleVar names what a process does that is started by a test.
const roleVar = "HOST_TEST_ROLE"

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(program.dir)
	os.Exit(code)
}

// build builds leaderrun, and returns its path.
func build(t *testing.T) string {
	t.Helper()
	program.once.Do(func() {
		if program.dir, program.err = os.MkdirTemp("", "host"); program.err != nil {
			return
		}
		c := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", program.dir+"/", "github.com/leaderrun/leaderrun")
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			t.Logf("%s", out)
			program.err = err
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return filepath.Join(program.dir, "leaderrun")
}

// newHostWith makes one host, and skips the test where it lacks something.
func newHostWith(t testing.TB, what string, o Options) *Host {
	t.Helper()
	h := New(t, o)[0]
	if err := h.Lacks()[what]; what != "" && err != nil {
		realserver.Missing(t, what+": "+err.Error())
	}
	return h
}

// until polls until ok, and fails the test if that takes too long.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v still not: %s", patience, what)
		}
	}
}

// start starts a command of the host, which the host's end kills.
func start(t testing.TB, c *Cmd) Process {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p := At(c.Process.Pid)
	go func() { _ = c.Wait() }() // so that it does not stay a zombie
	return p
}
