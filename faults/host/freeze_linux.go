package host

import (
	"os"
	"strings"
	"time"
)

// Freeze stops all processes of the host at once, as when a virtual machine is paused, until Thaw.
func (h *Host) Freeze() error {
	if h.freezer == nil {
		return h.lacks[Freezing]
	}
	return h.freezer.freeze(true)
}

// Thaw ends Freeze.
func (h *Host) Thaw() error {
	if h.freezer == nil {
		return nil
	}
	return h.freezer.freeze(false)
}

// addFreezer makes a cgroup to freeze, or takes the host's, if that is of version 2.
func (h *Host) addFreezer() {
	for _, g := range h.groups() {
		if g.v2 {
			h.freezer = g
			return
		}
	}
	h.freezer = h.addGroup(Freezing, freezerController)
}

// freeze begins or ends to freeze the processes, and waits for that.
func (g *group) freeze(on bool) error {
	name, text, state, want := "freezer.state", "THAWED", "freezer.state", "THAWED"
	if on {
		text, want = "FROZEN", "FROZEN"
	}
	if g.v2 {
		name, text, state, want = "cgroup.freeze", "0", "cgroup.events", "frozen 0"
		if on {
			text, want = "1", "frozen 1"
		}
	}
	if err := g.write(name, text); err != nil {
		return err
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		now, err := os.ReadFile(g.file(state))
		if err != nil || strings.Contains(string(now), want) {
			return err
		}
		if time.Now().After(end) {
			return &os.PathError{Op: "freeze", Path: g.dir, Err: os.ErrDeadlineExceeded}
		}
	}
}
