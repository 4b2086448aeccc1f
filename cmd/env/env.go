// Package env has what all subcommands need: the environment in which they run.
package env

import (
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
	Programs *helper.Programs // finds the helper programs of backends that are not built in
	Linked   map[string]Role  // other programs of ours that a bundle contains, by name
	Now      func() time.Time // the wall clock, which decides the window that a run belongs to

	Out     io.Writer       // for data that the user asked for
	Console *output.Console // for everything else
}

// A Role is the main function of another program that a bundle contains. Its arguments
// begin with its name, and it returns the exit status.
type Role func(args []string) int

// roleName is the name by which a bundle starts itself in a role.
func roleName(role string) string { return "lr-" + role }

// Play runs the role that this process was started for. If there is none, ok is false.
func (e *Env) Play(args []string) (status int, ok bool) {
	for name, role := range e.Linked {
		if len(args) > 0 && args[0] == roleName(name) {
			return role(args), true
		}
	}
	return 0, false
}

// Tool returns the program leaderrun-NAME, and the name to start it by.
func (e *Env) Tool(name string) (path, as string, err error) {
	if e.Linked[name] != nil {
		path, err = os.Executable()
		return path, roleName(name), err
	}
	path, err = e.Programs.Tool(name)
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
