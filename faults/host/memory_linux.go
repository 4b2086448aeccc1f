package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// hogs is how long taking memory may take.
const hogs = 30 * time.Second

// ExhaustMemory limits the host to the memory that its processes have, and then takes more, in
// MiB. So the kernel kills as many of the processes as it must, of its own choice. It returns
// how many these are. After that there is no limit.
func (h *Host) ExhaustMemory(more int) (killed int, err error) {
	g := h.memory
	if g == nil {
		return 0, h.lacks[Memory]
	}
	defer func() { err = errors.Join(err, g.liftMemory()) }()
	before, err := g.kills()
	if err != nil {
		return 0, err
	}
	if err := g.limitMemory(); err != nil {
		return 0, err
	}
	// As all others are better victims, the one that takes more is not chosen. Among them the
	// largest is. Nobody may make himself a worse one without a capability of its own.
	for _, p := range g.processes() {
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", p.PID), []byte("1000"), 0) // it may have ended
	}
	c := h.Command("dd", "if=/dev/zero", "of=/dev/null", fmt.Sprintf("bs=%dM", more), "count=1", "status=none")
	if err := c.Start(); err != nil {
		return 0, err
	}
	late := time.AfterFunc(hogs, func() { _ = c.Process.Kill() })
	defer late.Stop()
	_ = c.Wait() // it is killed after all if nobody else is left
	after, err := g.kills()
	return after - before, err
}

// memoryMax is the name of the file with the limit.
func (g *group) memoryMax() string {
	if g.v2 {
		return "memory.max"
	}
	return "memory.limit_in_bytes"
}

func (g *group) liftMemory() error {
	if g.v2 {
		return g.write(g.memoryMax(), "max")
	}
	return g.write(g.memoryMax(), "-1")
}

// limitMemory sets the limit to what the processes have. With version 1 it cannot be lower than
// what the kernel cannot take away, and that is more.
func (g *group) limitMemory() error {
	had, err := g.number("memory.stat", "anon", "total_rss")
	if err != nil {
		return err
	}
	for ; ; had += 1 << 20 {
		err := g.write(g.memoryMax(), strconv.Itoa(had))
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
}

// kills counts the processes that the kernel has killed for want of memory.
func (g *group) kills() (int, error) {
	if g.v2 {
		return g.number("memory.events", "oom_kill", "")
	}
	return g.number("memory.oom_control", "", "oom_kill")
}

// number reads a number from a file of names and numbers. The name depends on the version.
func (g *group) number(file, v2, v1 string) (int, error) {
	name := v1
	if g.v2 {
		name = v2
	}
	text, err := os.ReadFile(g.file(file))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if n, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			return strconv.Atoi(string(bytes.TrimSpace(n)))
		}
	}
	return 0, fmt.Errorf("%s has no %s", g.file(file), name)
}
