// Package realserver runs the real servers of tests and benchmarks: on loopback, on free
// ports, until the test or the test process ends. The programs come from a cache that
// `make servers` fills.
package realserver

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Ready bounds the start or the end of a server on a busy machine.
const Ready = 3 * time.Minute

// orderly is how long a server has for an orderly end: now and then Consul 1.21 does not
// end at all (hashicorp/consul#12247).
const orderly = 30 * time.Second

// A Process is a server. If a method fails, it fails the test. The methods must not be
// called concurrently. A Process may be started again after it has ended.
type Process struct {
	TB      testing.TB
	Path    string
	Args    []string
	Env     []string // the whole environment
	Place   Place
	LogFile string // the server's output is appended here
	// Nobody makes the server run as the user nobody if we are root: PostgreSQL refuses
	// to run as root. The files that it reads and writes must belong to that user: see
	// Yield.
	Nobody bool
	// Stopping is the signal that ends the server in an orderly way. Nil means SIGTERM.
	Stopping os.Signal

	started  time.Time
	cmd      *exec.Cmd
	done     chan struct{} // closed when cmd has ended
	reported bool          // the end of the log was shown
}

// A Place is the network in which a server runs. The zero Place is this machine's own.
type Place struct {
	IP    string   // its address; "" is 127.0.0.1
	Enter []string // the words before those of a command that runs there
}

// Addr returns the address of a port.
func (p Place) Addr(port int) string {
	return net.JoinHostPort(p.Host(), strconv.Itoa(port))
}

// Host returns the address without a port.
func (p Place) Host() string { return cmp.Or(p.IP, "127.0.0.1") }

// Start starts the process. It keeps the starting thread alive, because Linux ties the
// death signal to that thread (golang/go#27505).
func (p *Process) Start() {
	p.TB.Helper()
	log, err := os.OpenFile(p.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.TB.Fatal(err)
	}
	defer log.Close()
	words := slices.Concat(p.Place.Enter, []string{p.Path}, p.Args)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = filepath.Dir(p.LogFile) // Java does not run in a directory whose name it cannot decode
	cmd.Env = p.Env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = dieWithParent(p.Nobody)
	started, done := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it was killed: how it ends does not matter
		}
		close(done)
	}()
	if err := <-started; err != nil {
		p.TB.Fatal(err)
	}
	p.cmd, p.done, p.started = cmd, done, time.Now()
	p.TB.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		p.report()
	})
}

// WaitReady waits until ok returns true.
func (p *Process) WaitReady(ok func() bool) {
	p.TB.Helper()
	deadline := time.Now().Add(Ready)
	for !ok() {
		select {
		case <-p.done:
			p.fail("ended while starting")
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.fail(fmt.Sprintf("is not ready after %v", Ready))
		}
	}
}

// Wait waits until the process has ended by itself, and fails the test if its exit status
// is not 0.
func (p *Process) Wait() {
	p.TB.Helper()
	if !p.ends(Ready) {
		p.fail("does not end")
	}
	if !p.cmd.ProcessState.Success() {
		p.fail("has failed")
	}
}

// PID returns the process id of the running server.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop ends the server in an orderly way, and kills it if it has not ended after 30 s, as a
// service manager does.
func (p *Process) Stop() { p.TB.Helper(); p.stop(orderly) }

func (p *Process) stop(patience time.Duration) {
	p.TB.Helper()
	sig := cmp.Or[os.Signal](p.Stopping, syscall.SIGTERM)
	p.signal(sig)
	if !p.ends(patience) {
		p.TB.Logf("%s (pid %d) does not end on %v and is killed", p.Path, p.PID(), sig)
		_ = p.cmd.Process.Kill() // an error says that it has ended just now
		p.awaitDeath()
	}
}

// Kill kills the server. It fails the test if the server has ended before.
func (p *Process) Kill() { p.TB.Helper(); p.signal(syscall.SIGKILL); p.awaitDeath() }

// Pause freezes the server: connections stay and nothing answers.
func (p *Process) Pause() {
	p.TB.Helper()
	p.signal(syscall.SIGSTOP)
	for end := time.Now().Add(Ready); !stopped(p.PID()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			p.TB.Fatalf("%s does not stop on %v", p.Path, syscall.SIGSTOP)
		}
	}
}

// Resume ends a Pause.
func (p *Process) Resume() { p.TB.Helper(); p.signal(syscall.SIGCONT) }

// Log returns what the server has logged.
func (p *Process) Log() string {
	b, err := os.ReadFile(p.LogFile)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (p *Process) awaitDeath() {
	p.TB.Helper()
	if !p.ends(Ready) {
		p.TB.Fatalf("%s (pid %d) does not end when it is killed", p.Path, p.PID())
	}
}

// ends waits until the server has ended, and reports whether it has in time.
func (p *Process) ends(within time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(within):
		return false
	}
}

func (p *Process) signal(sig os.Signal) {
	p.TB.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.TB.Fatalf("signal %s: %v", p.Path, err)
	}
}

// FreePort returns a port below those that systems use for outgoing connections, so that
// a server finds it free again after a restart. Until the test ends, no other test gets
// the same port. FreePort does not listen to find a free port: another test that is just
// forking would keep that socket open for a moment.
func FreePort(tb testing.TB) int {
	tb.Helper()
	for range 1000 {
		port := 10000 + rand.IntN(20000)
		if !reserve(tb, port) {
			continue
		}
		c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			return port
		}
		_ = c.Close()
	}
	tb.Fatal("no free port")
	return 0
}

// Listen listens at an address at which this process may have listened before: a child that
// a test is just forking has the old socket until it calls exec.
func Listen(tb testing.TB, addr string) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", addr)
	for end := time.Now().Add(Ready); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
		l, err = net.Listen("tcp", addr)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// Installed returns the path of a file or directory in the cache. If it is missing,
// Installed skips the test, or fails it if CI=true.
func Installed(tb testing.TB, elem ...string) string {
	tb.Helper()
	path := filepath.Join(append([]string{Cache()}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		Missing(tb, fmt.Sprintf("%s is missing; `make servers` installs it", path))
	}
	return path
}

// Missing skips the test because something is missing, or fails it if CI=true.
func Missing(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatal(what)
	}
	tb.Skip(what)
}

// Cache returns the directory into which servers for tests are installed.
func Cache() string {
	if dir := os.Getenv("LEADERRUN_TEST_CACHE"); dir != "" {
		return dir
	}
	base := os.Getenv("XDG_CACHE_HOME")
	if base == "" {
		base = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	return filepath.Join(base, "leaderrun-test")
}
