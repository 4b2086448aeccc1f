package cmd

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// showVerb is what can be done with the config: to show it.
const showVerb = "show"

func (p *program) configCommand() *cli.Command {
	return &cli.Command{
		Name:      "config",
		Usage:     "show the options that a run would have, and where each is from",
		ArgsUsage: "show [--] [COMMAND [ARG...]]",
		Flags:     append(newOptions().flags(), configFlags()...),
		Action: func(ctx *cli.Context) error {
			switch verb := ctx.Args().First(); verb {
			case showVerb:
				return p.showConfig()
			case "":
				return output.WithHint(&locks.UsageError{What: "leaderrun config needs to know what to do"}, "leaderrun config show [OPTIONS]")
			default:
				return locks.Unknown("subcommand", "config "+verb, []string{"config " + showVerb})
			}
		},
	}
}

// showConfig prints every option of a run, as it would be.
func (p *program) showConfig() error {
	routed := p.given
	for i, arg := range routed {
		if arg == "--" { // the word after it is "show"
			routed = append(routed[:i+1:i+1], routed[i+2:]...)
			break
		}
	}
	s, err := p.settings(routed)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, o := range s.options {
		if name := o.flag.Names()[0]; name != commandKey || o.rank > fromDefault {
			fmt.Fprintf(w, "%s\t%s\t%s\n", name, shown(o.value), o.source)
		}
	}
	if len(s.command) > 0 {
		words := make([]string, len(s.command))
		for i, word := range s.command {
			words[i] = shown(word)
		}
		fmt.Fprintf(w, "COMMAND\t%s\t%s\n", strings.Join(words, " "), s.source)
	}
	return w.Flush()
}

// shown is a value for people: without passwords, and in quotes if it would look
// like several, or none.
func shown(value string) string {
	value = locks.RedactText(value)
	if value == "" {
		return "-"
	}
	if quoted := strconv.Quote(value); quoted != `"`+value+`"` || strings.ContainsAny(value, " '") {
		return quoted
	}
	return value
}
