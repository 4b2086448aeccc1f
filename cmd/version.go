package cmd

import (
	"context"
	"runtime"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/locks/program/version"
)

// versionTimeout is how long the helper programs may take to report their versions.
const versionTimeout = 5 * time.Second

func versionCommand(e *env.Env) *options.Command {
	return &options.Command{
		Name:  options.VersionName,
		Usage: "print the version; -o json also prints those of the helper programs",
		Define: func() ([]options.Option, func(*options.Invocation) error) {
			var format options.Choice
			return []options.Option{options.Format(&format, "text", "print as `FORMAT`: text or json", "text", "json")},
				func(*options.Invocation) error {
					if format.Value == "json" {
						return output.JSON(e.Out, versionsOf(e))
					}
					return e.Say("leaderrun %s (%s, %s/%s)", e.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
				}
		},
	}
}

// versions is what `leaderrun version -o json` prints.
type versions struct {
	V        int             `json:"v"` // of this format, to which fields may be added
	Version  string          `json:"version"`
	Commit   string          `json:"commit,omitempty"`
	Date     string          `json:"date,omitempty"`     // of the commit
	Modified bool            `json:"modified,omitempty"` // there were uncommitted changes
	Go       string          `json:"go"`
	Platform string          `json:"platform"`
	BuiltIn  []string        `json:"built_in"` // backends
	Helpers  []helperVersion `json:"helpers"`
}

// A helperVersion has the version of another program of leaderrun, or the error why it
// cannot be used.
type helperVersion struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	Error   string `json:"error,omitempty"`
}

func versionsOf(e *env.Env) versions {
	b := version.Of()
	v := versions{
		V: 1, Version: e.Version, Commit: b.Commit, Date: b.Date, Modified: b.Modified,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		BuiltIn: e.Registry.Schemes(), Helpers: []helperVersion{},
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	for _, f := range e.Programs.Versions(ctx, linked(e)) {
		h := helperVersion{Name: "leaderrun-" + f.Scheme, Path: f.Path, Version: f.Version}
		if f.Err != nil {
			h.Error = f.Err.Error()
		}
		v.Helpers = append(v.Helpers, h)
	}
	return v
}

// linked returns the names of the programs that a bundle has linked in.
func linked(e *env.Env) []string {
	names := e.Registry.Schemes()
	if e.Monitor != nil {
		names = append(names, helper.MonitorName)
	}
	return names
}
