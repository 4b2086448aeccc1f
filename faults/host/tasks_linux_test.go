package host

import (
	"strings"
	"testing"
)

// TestLimitTasks allows a shell two tasks, and then as many as it wants.
func TestLimitTasks(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, Tasks, Options{})
	start(t, h.Command("/bin/sleep", "1000"))
	until(t, "it sleeps", func() bool {
		all := h.tasks.processes()
		return len(all) == 1 && startedBy(all[0].PID)[0] == "sleep"
	})
	if err := h.LimitTasks(2); err != nil {
		t.Fatal(err)
	}
	fork := func() (string, error) {
		out, err := h.Command("/bin/sh", "-c", "sleep 0.01 & sleep 0.01 & wait; echo done").CombinedOutput()
		return string(out), err
	}
	if out, err := fork(); err == nil || !strings.Contains(out, "ork") { // each shell says it in other words
		t.Errorf("two processes more than the shell: %q, %v", out, err)
	}
	if err := h.LiftTasks(); err != nil {
		t.Fatal(err)
	}
	if out, err := fork(); err != nil || out != "done\n" {
		t.Errorf("without a limit: %q, %v", out, err)
	}
}
