package guard_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/leaderrun/leaderrun/locks/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A guard that does not answer to the start is given up, and whatever it may have
// started is dead.
func TestGuardFrozenAtTheStart(t *testing.T) {
	t.Parallel()
	r := launch(t, "", hardy["other sessions"], "-freeze", "-deadline", "3s")
	if got, want := r.said("refused"), "the guard process does not answer"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_ = r.cmd.Wait()
	if left := r.left(); len(left) > 0 || r.read("ready") != "" {
		t.Errorf("the job was started: %v", left)
	}
}

// A job is not started after its deadline. The same of a guard: TestSpawnTooLate.
func TestTooLate(t *testing.T) {
	t.Parallel()
	ran := filepath.Join(t.TempDir(), "ran")
	j, err := begin(t).Start(proc.Command{Path: "/usr/bin/env", Args: []string{"env", "touch", ran}, Env: os.Environ()}, clock.Boot{}.Now()-1)
	if err == nil {
		<-j.Exited()
		t.Error("it was started")
	}
	var start *proc.StartError
	if errors.As(err, &start) {
		t.Errorf("got %v, and it is not the command's fault", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("it ran")
	}
}

// A long environment reaches a guard that is slow to read it.
func TestLongStart(t *testing.T) {
	t.Parallel()
	env := os.Environ()
	for n := range 15 {
		env = append(env, fmt.Sprintf("LONG%d=%s", n, strings.Repeat("x", 100_000)))
	}
	j, err := begin(t).Start(proc.Command{Path: "/bin/sh", Args: []string{"sh", "-c", `test ${#LONG14} = 100000`}, Env: env}, clock.Never)
	if err != nil {
		t.Fatal(err)
	}
	<-j.Exited()
	if got := j.Exit(); got.Code != 0 {
		t.Errorf("got %v", got)
	}
	_, err = begin(t).Start(proc.Command{Path: "/bin/sh", Args: []string{"sh"}, Env: []string{strings.Repeat("x", 20<<20)}}, clock.Never)
	if !errors.Is(err, syscall.E2BIG) {
		t.Errorf("got %v, want E2BIG", err)
	}
}
