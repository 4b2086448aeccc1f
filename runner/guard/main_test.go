package guard_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// The test binary is also a program that tests run in a role.
const roleVariable = "GUARD_TEST_ROLE"

func TestMain(m *testing.M) {
	if guard.IsRole(os.Args) {
		endThreads()
		leave(guard.Main(os.Args))
	}
	switch os.Getenv(roleVariable) {
	case "":
		overlap()
		goleak.VerifyTestMain(m)
	case "supervise":
		os.Exit(supervise())
	case "show":
		text := fmt.Sprintf("%q\n%q\n", os.Args, os.Environ())
		if os.WriteFile(os.Getenv("OUT"), []byte(text), 0o600) != nil {
			os.Exit(1)
		}
	case "big":
		hold(256 << 20)
	case "relay":
		relay()
	case "greedy":
		greedy()
	case "daemons":
		daemons()
	case "privileged":
		privileged()
	case "headless":
		headless()
	case "hidden":
		hidden()
	case "leave":
		parent, err := syscall.Getpgid(os.Getppid())
		if err != nil || syscall.Setpgid(0, parent) != nil {
			os.Exit(2)
		}
		os.Exit(7)
	}
}

// overlap lets more tests run at one time than there are processors, because most of them
// wait most of the time.
func overlap() {
	flag.Parse()
	parallel := flag.Lookup("test.parallel").Value
	if n, err := strconv.Atoi(parallel.String()); err == nil && n < 8 {
		_ = parallel.Set("8")
	}
}

// noDelay keeps the race detector from sleeping at exit.
const noDelay = "GORACE=atexit_sleep_ms=0"

// play starts this program in a role, as a job.
func play(t *testing.T, role string, args, env []string) proc.Job {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	j, err := begin(t).Begun(proc.Command{Path: self, Args: args, Env: append([]string{roleVariable + "=" + role, noDelay}, env...)}, clock.Never)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// begin begins a guard with much patience, because a test run keeps the machine busy. If the
// guard counts as failed anyway, only this test fails: processes of the job are looked for
// only in its groups, because the other children of this process belong to other tests.
func begin(t *testing.T) *guard.Client {
	t.Helper()
	g := guard.Begin(nil)
	g.SetPatience(time.Minute)
	var taken atomic.Bool
	g.SetSweep(func(groups []int) (clean bool) {
		taken.Store(true)
		for _, group := range groups {
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
		return g.Ended()
	})
	t.Cleanup(func() {
		if taken.Load() {
			t.Error("the guard counts as failed")
		}
		g.Close()
	})
	return g
}

// A script is a shell script that runs as a job. It has its own directory, $D.
type script struct {
	proc.Job
	t     *testing.T
	guard *guard.Client
	dir   string
	adopt map[int]bool // groups whose orphans are reaped here
}

// start starts a script. The end of the test kills what is left of it.
func start(t *testing.T, text string) script {
	t.Helper()
	return startUnder(t, begin(t), text)
}

func startUnder(t *testing.T, g *guard.Client, text string) script {
	t.Helper()
	s := script{t: t, guard: g, dir: t.TempDir(), adopt: map[int]bool{}}
	var err error
	s.Job, err = g.Begun(s.command(text), clock.Never)
	if err != nil {
		t.Fatal(err)
	}
	s.adopt[s.PID()] = true
	t.Cleanup(s.end)
	return s
}

func (s script) command(text string) proc.Command {
	return proc.Command{Path: "/bin/sh", Args: []string{"sh", "-c", text}, Env: append(os.Environ(), "D="+s.dir)}
}

// end kills what is left of the script.
func (s script) end() {
	s.t.Helper()
	if err := s.Kill(); err != nil {
		s.t.Error(err)
	}
	s.exits()
	until(s.t, "the job is gone", s.isGone)
}

// isGone is like Gone, but first reaps orphans of a guard that adopts none, as init does: this
// process may be a subreaper.
func (s script) isGone() bool {
	for group := range s.adopt {
		for pid := 1; pid > 0; {
			pid, _ = syscall.Wait4(-group, nil, syscall.WNOHANG, nil)
		}
	}
	return proc.IsClosed(s.Gone())
}

// exits waits for the first process.
func (s script) exits() proc.Exit {
	s.t.Helper()
	select {
	case <-s.Exited():
	case <-time.After(patience):
		s.t.Fatal("the first process has not ended")
	}
	return s.Exit()
}

// wrote waits for a line that the script writes to a file, and returns it.
func (s script) wrote(name string) string {
	s.t.Helper()
	var text []byte
	until(s.t, "the job has written "+name, func() bool {
		text, _ = os.ReadFile(filepath.Join(s.dir, name))
		return strings.HasSuffix(string(text), "\n")
	})
	return strings.TrimSuffix(string(text), "\n")
}

// signal sends a signal, which must work.
func (s script) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.Signal(sig); err != nil {
		s.t.Errorf("signal %v: %v", sig, err)
	}
}

// patience is how long tests wait for an event on a busy machine.
const patience = 30 * time.Second

// until waits until f returns true. It calls f often at first, and more rarely later, because
// many tests wait at one time.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	begun := time.Now()
	for waited := time.Duration(0); waited < patience; waited = time.Since(begun) {
		if f() {
			return
		}
		time.Sleep(min(max(time.Millisecond, waited/50), 50*time.Millisecond))
	}
	t.Fatalf("not within %v: %s", patience, what)
}
