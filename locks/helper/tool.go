package helper

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A Tool is a running program that is started like a helper and keeps no lock: it reads
// its standard input and ends with it. Its log is passed on like a helper's.
type Tool struct {
	p     *process
	f     *forwarder
	ended chan struct{}
}

// StartTool starts leaderrun-NAME, the program at path, under the name that tells it what
// to do.
func StartTool(path, as, name string, log *slog.Logger) (*Tool, error) {
	p, err := startProcess(path, as, toolEnvironment(), nil)
	if err != nil {
		return nil, err
	}
	_ = p.input.r.Close() // so that a write to a Tool that has ended fails
	p.name = prefix + name
	t := &Tool{p, newForwarder(name, log, locks.Printable), make(chan struct{})}
	go func() { _, _ = io.Copy(io.Discard, p.stdout) }() // a library may print
	go func() {
		defer close(t.ended)
		t.f.forward(p.stderr)
		<-p.exited
	}()
	return t, nil
}

// toolEnvironment returns the part of our environment that a Tool may need: how Go
// programs run, and the time zone. It has none of the backend's credentials, which our
// environment may contain.
func toolEnvironment() []string {
	env := []string{"GOMAXPROCS=1"}
	for _, name := range []string{"GODEBUG", "GOMEMLIMIT", "GORACE", "GOTRACEBACK", "TZ", "SYSTEMROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Input is the program's standard input. Its user closes it.
func (t *Tool) Input() *os.File { return t.p.input.w }

// Ended is closed when the program has ended and nothing is logged any more.
func (t *Tool) Ended() <-chan struct{} { return t.ended }

// ExitError describes how the program ended, after Ended is closed.
func (t *Tool) ExitError() error { return t.p.exitError(t.f.lastLines()) }

// Is reports whether pid is that of the program. Once the program has ended, its pid may
// belong to any other.
func (t *Tool) Is(pid int) bool { return t.p.is(pid) }

// End waits for the program to end, after its input was closed, and reports whether it
// has. After the limit it kills the program. A program that waits for an unresponsive
// disk may survive even that, and is left behind.
func (t *Tool) End(limit time.Duration) bool {
	if closedWithin(t.ended, limit) {
		return true
	}
	t.p.kill()
	return closedWithin(t.ended, killTimeout)
}
