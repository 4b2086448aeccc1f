package cmd

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks/program/version"
)

// versionName is an option, as timeout(1) and flock(1) have it. route turns it
// into the version command.
const versionName = "version"

// versionTimeout is how long the helper programs have to say theirs.
const versionTimeout = 5 * time.Second

func versionFlag() cli.Flag {
	return &cli.BoolFlag{Name: versionName, Aliases: []string{"V"}, Usage: "print the version", Category: "Help"}
}

func (p *program) versionCommand() *cli.Command {
	format := choice{"text", []string{"text", "json"}}
	return &cli.Command{
		Name:  versionName,
		Usage: "print the version; as JSON, those of the helper programs, too",
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "output", Aliases: []string{"o"}, Category: "Output", Value: &format, DefaultText: "text",
				Usage: "print as `FORMAT`: text or json"},
		},
		Action: func(ctx *cli.Context) error {
			if err := noArguments(ctx); err != nil {
				return err
			}
			if format.value == "json" {
				return output.JSON(p.out, p.versions())
			}
			_, err := fmt.Fprintf(p.out, "leaderrun %s (%s, %s/%s)\n", p.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// versions is what `leaderrun version -o json` prints.
type versions struct {
	V        int             `json:"v"` // of this form; fields may be added to it
	Version  string          `json:"version"`
	Commit   string          `json:"commit,omitempty"`
	Date     string          `json:"date,omitempty"`     // of the commit
	Modified bool            `json:"modified,omitempty"` // the commit is not all
	Go       string          `json:"go"`
	Platform string          `json:"platform"`
	BuiltIn  []string        `json:"built_in"` // backends
	Helpers  []helperVersion `json:"helpers"`
}

// A helperVersion is that of another program of leaderrun, or why it cannot be used.
type helperVersion struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	Error   string `json:"error,omitempty"`
}

func (p *program) versions() versions {
	b := version.Of()
	v := versions{
		V: 1, Version: p.Version, Commit: b.Commit, Date: b.Date, Modified: b.Modified,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		BuiltIn: p.Registry.Schemes(), Helpers: []helperVersion{},
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	for _, f := range p.Programs.Versions(ctx, p.linked()) {
		h := helperVersion{Name: "leaderrun-" + f.Scheme, Path: f.Path, Version: f.Version}
		if f.Err != nil {
			h.Error = f.Err.Error()
		}
		v.Helpers = append(v.Helpers, h)
	}
	return v
}

// linked are the parts of leaderrun that need no program of their own.
func (p *program) linked() []string {
	names := slices.Clone(p.Registry.Schemes())
	if linkedMetrics != nil {
		names = append(names, "metrics")
	}
	if linkedProbe != nil {
		names = append(names, "probe")
	}
	return names
}
