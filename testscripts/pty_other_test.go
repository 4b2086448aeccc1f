//go:build !linux

package testscripts

import (
	"os/exec"

	"github.com/rogpeppe/go-internal/testscript"
)

// attach is not implemented for this system.
func attach(ts *testscript.TestScript, _ *exec.Cmd, _ string) func() {
	ts.Fatalf("start -tty works on Linux only")
	return nil
}

func detach(*exec.Cmd) {}
