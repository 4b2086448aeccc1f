package host

import (
	"os"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// patience bounds the wait for what must happen.
const patience = 60 * time.Second

// built is the leaderrun of this test process.
var built programs.Programs

// roleVar names the role of a process that a test starts.
const roleVar = "HOST_TEST_ROLE"

func TestMain(m *testing.M) {
	code := m.Run()
	built.Remove()
	os.Exit(code)
}

// build builds leaderrun, and returns its path.
func build(t *testing.T) string {
	t.Helper()
	if err := built.Build(programs.Leaderrun); err != nil {
		t.Fatal(err)
	}
	return built.Path("leaderrun")
}

// newHostWith makes one host, and skips the test if the machine lacks something.
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
