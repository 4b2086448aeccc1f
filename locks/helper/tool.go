package helper

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A Tool is a running program that is started as helpers are and keeps no lock: it
// reads its standard input and ends with it. What it logs is passed on as what a
// helper logs.
type Tool struct {
	p     *process
	f     *forwarder
	ended chan struct{}
}

// StartTool starts leaderrun-NAME, the program at path, under the name by which it
// knows what it is to do.
func StartTool(path, as, name string, log *slog.Logger) (*Tool, error) {
	p, err := startProcess(path, as, toolEnvironment(), nil)
	if err != nil {
		return nil, err
	}
	_ = p.input.r.Close() // so that who writes to a Tool that has ended is told
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

// toolEnvironment is what of ours a Tool may need: how Go programs run, and in which
// time zone. Of the backend's credentials, which may be in ours, it has none.
func toolEnvironment() []string {
	env := []string{"GOMAXPROCS=1"}
	for _, name := range []string{"GODEBUG", "GOMEMLIMIT", "GORACE", "GOTRACEBACK", "TZ", "SYSTEMROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Input is the program's standard input. Whoever has it closes it.
func (t *Tool) Input() *os.File { return t.p.input.w }

// Ended is closed when the program has ended and nothing is logged any more.
func (t *Tool) Ended() <-chan struct{} { return t.ended }

// ExitError says how it ended, after that.
func (t *Tool) ExitError() error { return t.p.exitError(t.f.lastLines()) }

// Is reports whether a process id is the program's. Once that has ended it is not,
// and may be anybody's.
func (t *Tool) Is(pid int) bool { return t.p.is(pid) }

// End waits for the program to end, after its input was closed, and reports whether
// it has; one that takes longer than the limit is killed. One that waits for a disk
// that does not answer may survive even that, and is left behind.
func (t *Tool) End(limit time.Duration) bool {
	if closedWithin(t.ended, limit) {
		return true
	}
	t.p.kill()
	return closedWithin(t.ended, killTimeout)
}
