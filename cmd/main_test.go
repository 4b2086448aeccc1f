package cmd

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

func TestMain(m *testing.M) {
	tester.Forget()
	os.Exit(m.Run())
}

// testProgram is a program that prints to w.
func testProgram(w io.Writer) *program {
	return &program{Env: Env{Registry: new(locks.Registry)}, out: io.Discard, term: output.NewTerm(w)}
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

// TestIsGiven: an argument of the job is no option of ours, though it look like one.
func TestIsGiven(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{"-w 3 true": true, "--wait=3 -- true": true, "true --wait=3": false, "-- true --wait=3": false, "true": false} {
		p := testProgram(io.Discard)
		var err error
		if p.given, err = route(append([]string{"leaderrun"}, strings.Fields(line)...), p.commands()); err != nil {
			t.Fatal(err)
		}
		if got := p.isGiven("wait"); got != want {
			t.Errorf("leaderrun %s: is --wait given? %v", line, got)
		}
	}
}
