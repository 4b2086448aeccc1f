package cmd

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/locks"
)

// TestMain leaves the tests nothing of the tester's own settings.
func TestMain(m *testing.M) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "LEADERRUN_") {
			_ = os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// testProgram is a program that prints to w.
func testProgram(w io.Writer) *program {
	return &program{Env: Env{Registry: new(locks.Registry)}, out: io.Discard, term: &term{file: os.Stderr, sink: newSink(w)}}
}

func testCommands() []*cli.Command { return testProgram(io.Discard).commands() }

// within fails a test in which f takes longer than the limit.
func within(t *testing.T, limit time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("%s takes longer than %v", what, limit)
	}
}
