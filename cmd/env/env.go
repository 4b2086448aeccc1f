// Package env has what all subcommands need: the environment in which they run.
package env

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/helper"
)

// An Env has what main passes to all subcommands.
type Env struct {
	Version  string
	Registry *locks.Registry
	Programs *helper.Programs        // finds the helper programs of backends that are not built in
	Monitor  func(args []string) int // the main function of leaderrun-monitor in a bundle; otherwise nil
	Now      func() time.Time        // the wall clock, by which a run belongs to a window

	Out     io.Writer       // for data that the user asked for
	Console *output.Console // for everything else
}

// monitorRole is the name by which a bundle starts itself as leaderrun-monitor.
const monitorRole = "lr-monitor"

// IsMonitor reports whether this process was started as leaderrun-monitor, by a bundle.
func (e *Env) IsMonitor(args []string) bool {
	return e.Monitor != nil && len(args) > 0 && args[0] == monitorRole
}

// FindMonitor returns the path of leaderrun-monitor, and the name to start it by.
func (e *Env) FindMonitor() (path, name string, err error) {
	if e.Monitor != nil {
		path, err = os.Executable()
		return path, monitorRole, err
	}
	path, err = e.Programs.FindMonitor()
	if le, ok := errors.AsType[*locks.Error](err); ok { // it was not about a backend
		err = output.Reword(err, "%v", le.Err)
	}
	return path, path, err
}

// Helper returns the path of a backend's helper program, or "" if the backend is built in.
func (e *Env) Helper(scheme string) (string, error) {
	if slices.Contains(e.Registry.Schemes(), scheme) {
		return "", nil
	}
	return e.Programs.Find(scheme)
}

// Say prints a line of data that the user asked for.
func (e *Env) Say(format string, args ...any) error {
	_, err := fmt.Fprintf(e.Out, format+"\n", args...)
	return err
}

// NewID returns an id that no other run has: host/pid/random.
func NewID() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%08x", host, os.Getpid(), rand.Uint32())
}
