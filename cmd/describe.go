package cmd

import (
	"slices"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
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
	d := Description{Headings: slices.Clone(options.Groups), Backends: known.Backends()}
	for _, c := range commands(new(env.Env)) {
		described := Subcommand{Name: c.Name}
		for _, o := range c.Options() {
			if !o.Hidden {
				value, usage := o.Phrase()
				described.Options = append(described.Options, Option{Name: o.Name, Short: o.Short, Value: value, Usage: usage,
					Default: o.Default, Heading: o.Group, Variable: o.Variable(), InFile: o.From == options.Anywhere})
			}
		}
		d.Commands = append(d.Commands, described)
	}
	return d
}
