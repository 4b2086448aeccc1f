package cmd

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// A Description is the program as plain data, for who writes about it.
type Description struct {
	Commands []Subcommand
	Headings []string // under which options are shown, in this order
	Backends []*backend.Info
}

// A Subcommand is one with its options. That of leaderrun itself is "run".
type Subcommand struct {
	Name    string
	Options []Option
}

// An Option is one of a subcommand.
type Option struct {
	Name     string // the long one, without dashes
	Short    string // "" if it has none
	Value    string // the name of its value; "" if it takes none
	Usage    string // a phrase, in which a value has the name Value
	Default  string // "" if it has none, or if Usage says it
	Heading  string
	Variable string // "" if it has none
	InFile   bool   // it may stand in a config file
}

// Describe describes the options that the program runs on.
func Describe() Description {
	d := Description{Headings: slices.Clone(headings), Backends: known.Backends()}
	var keys []string
	for _, f := range inFile() {
		keys = append(keys, f.Names()[0])
	}
	for _, c := range new(program).commands() {
		described := Subcommand{Name: c.Name}
		for _, f := range c.Flags {
			if f.(cli.VisibleFlag).IsVisible() {
				o := describe(f)
				o.InFile = slices.Contains(keys, o.Name)
				described.Options = append(described.Options, o)
			}
		}
		d.Commands = append(d.Commands, described)
	}
	return d
}

func describe(f cli.Flag) Option {
	d := f.(cli.DocGenerationFlag)
	o := Option{Name: f.Names()[0], Heading: f.(cli.CategorizableFlag).GetCategory()}
	o.Value, o.Usage = unquoteUsage(d.GetUsage())
	if names := f.Names(); len(names) > 1 {
		o.Short = names[1]
	}
	if takesValue(f) && !strings.Contains(o.Usage, "(default") {
		o.Default = d.GetDefaultText()
	}
	if variables := d.GetEnvVars(); len(variables) > 0 {
		o.Variable = variables[0]
	}
	return o
}
