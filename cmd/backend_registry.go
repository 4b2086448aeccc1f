package cmd

import (
	"os"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/file"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/locks/program/version"
)

// NewEnv puts the program together. The file backend and those of a bundle are built in;
// any other may have a helper program. libexec is the directory in which a release has
// installed helpers; it may be empty.
func NewEnv(libexec string) env.Env {
	registry := new(locks.Registry)
	registry.Register("file", file.Open)
	registerBundled(registry)
	programs := &helper.Programs{Libexec: libexec, Known: known.Helpers(), Linked: registry.Schemes()}
	registry.Fallback = programs.Open
	return env.Env{
		Version: version.Number(), Registry: registry, Programs: programs, Monitor: linkedMonitor(), Now: time.Now,
		Out: os.Stdout, Console: output.NewConsole(os.Stderr),
	}
}
