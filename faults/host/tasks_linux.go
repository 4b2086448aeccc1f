package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// LimitTasks allows the host spare more processes and threads than it has now, until
// LiftTasks. Once all of these exist, fork(2) and clone(2) fail with EAGAIN.
func (h *Host) LimitTasks(spare int) error {
	if h.tasks == nil {
		return h.lacks[Tasks]
	}
	text, err := os.ReadFile(h.tasks.file("pids.current"))
	if err != nil {
		return err
	}
	now, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("pids.current: %w", err)
	}
	return h.tasks.write("pids.max", strconv.Itoa(now+spare))
}

// TasksFiles is the directory of pids.max, which has the limit, and pids.current. It is
// empty if they do not exist. LiftTasks also undoes what a process of the host has
// written there.
func (h *Host) TasksFiles() string {
	if h.tasks == nil {
		return ""
	}
	return h.tasks.dir
}

// LiftTasks ends LimitTasks.
func (h *Host) LiftTasks() error {
	if h.tasks == nil {
		return nil
	}
	return h.tasks.lift()
}

func (g *group) lift() error { return g.write("pids.max", "max") }
