package helper

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// MonitorName is where the name of leaderrun-monitor differs from that of a helper. That
// program is found as helpers are, but is not a backend, and comes with the core.
const MonitorName = "monitor"

// FindMonitor returns the path of leaderrun-monitor.
func (p *Programs) FindMonitor() (string, error) {
	path, err := lookUp(p.dirs(), MonitorName)
	if err == nil && path == "" {
		err = &locks.Error{Op: "open", Backend: MonitorName, Class: locks.ErrUnavailable,
			Err:  fmt.Errorf("the program %s%s is not installed", prefix, MonitorName),
			Hint: "it comes with the package leaderrun; or run: go install github.com/leaderrun/leaderrun/...@latest"}
	}
	return path, err
}

// A Monitor is a running leaderrun-monitor. It reads its standard input and ends when that
// does. What it logs is passed on like the log of a helper.
type Monitor struct {
	p     *process
	f     *forwarder
	ended chan struct{}
}

// StartMonitor starts the program at path with arguments, of which the first is its name.
func StartMonitor(path string, args []string, log *slog.Logger) (*Monitor, error) {
	p, err := startProcess(path, args[0], monitorEnvironment(), nil, args[1:]...)
	if err != nil {
		return nil, err
	}
	_ = p.input.r.Close() // so that a write fails after the program has ended
	p.name = prefix + MonitorName
	m := &Monitor{p, newForwarder(MonitorName, log, locks.Printable), make(chan struct{})}
	go func() { _, _ = io.Copy(io.Discard, p.stdout) }() // a library may print
	go func() {
		defer close(m.ended)
		m.f.forward(p.stderr)
		<-p.exited
	}()
	return m, nil
}

// monitorEnvironment is the part of our environment that leaderrun-monitor may need: how
// Go programs run, and the time zone. It omits the backend's credentials.
func monitorEnvironment() []string {
	env := []string{"GOMAXPROCS=1"}
	for _, name := range []string{"GODEBUG", "GOMEMLIMIT", "GORACE", "GOTRACEBACK", "TZ", "SYSTEMROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Input returns the program's standard input, which the caller closes.
func (m *Monitor) Input() *os.File { return m.p.input.w }

// Ended is closed when the program has ended and all that it logged has been passed on.
func (m *Monitor) Ended() <-chan struct{} { return m.ended }

// ExitError describes how the program ended, after Ended is closed.
func (m *Monitor) ExitError() error { return m.p.exitError(m.f.lastLines()) }

// Is reports whether pid is that of the program. Once the program has ended, its pid may
// belong to any other.
func (m *Monitor) Is(pid int) bool { return m.p.is(pid) }

// End waits for the program to end, after its input was closed, and reports whether it
// has. After the limit it kills the program. A program that waits for an unresponsive
// disk may survive even that, and is left behind.
func (m *Monitor) End(limit time.Duration) bool {
	if closedWithin(m.ended, limit) {
		return true
	}
	m.p.kill()
	return closedWithin(m.ended, killTimeout)
}

// monitorVersion starts the program with --version, and returns the second word of its
// answer.
func monitorVersion(ctx context.Context, path string) (version string, err error) {
	err = firstOutput(ctx, path, path, monitorEnvironment(), []string{"--version"}, func(proc *process) error {
		line, err := bufio.NewReaderSize(proc.stdout, maxLine).ReadSlice('\n')
		if err != nil {
			return io.EOF
		}
		words := strings.Fields(string(line))
		if len(words) < 2 || words[0] != prefix+MonitorName {
			return fmt.Errorf("%s%s does not report its version", prefix, MonitorName)
		}
		version = plain(locks.Cut(words[1], maxVersion))
		return nil
	})
	return version, err
}
