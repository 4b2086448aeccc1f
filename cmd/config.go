package cmd

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// showVerb is the only subcommand of leaderrun config.
const showVerb = "show"

func configCommand(e *env.Env) *options.Command {
	return &options.Command{
		Name:  "config",
		Usage: "show the options of a run, and where each comes from",
		Args:  "show [--] [COMMAND [ARG...]]",
		Early: 1,
		Job:   true,
		Define: func() ([]options.Option, func(*options.Request) error) {
			opt := options.NewValues()
			return opt.Table(), func(r *options.Request) error {
				switch {
				case len(r.Args) == 0 || r.Args[0] == "":
					return output.WithHint(locks.Usagef("leaderrun config needs a subcommand"), "leaderrun config show [OPTIONS]")
				case r.Args[0] != showVerb:
					return locks.Unknown("subcommand", "config "+r.Args[0], []string{"config " + showVerb})
				}
				return showConfig(e.Out, r, opt.Timing().Grace)
			}
		},
	}
}

// showConfig prints all options of a run, as they would apply, and the grace of a job whose lease
// is about to end.
func showConfig(out io.Writer, r *options.Request, grace time.Duration) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range r.Settings {
		if s.From == options.Anywhere || s.Name == "command" && s.Rank > options.Default {
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, quoted(redacted(s)), s.Source)
		}
		if s.Name == "kill-after" {
			fmt.Fprintf(w, "grace\t%s\tkill-after, and a third of the ttl\n", grace)
		}
	}
	if command := r.Args[1:]; len(command) > 0 {
		words := make([]string, len(command))
		for i, word := range command {
			words[i] = quoted(locks.RedactText(word))
		}
		fmt.Fprintf(w, "COMMAND\t%s\t%s\n", strings.Join(words, " "), r.ArgsFrom)
	}
	return w.Flush()
}

// redacted returns the value of an option without passwords.
func redacted(s *options.Setting) string {
	if s.Name == "backend" {
		return known.RedactText(s.Text)
	}
	return locks.RedactText(s.Text)
}

// quoted returns a value that would look like several values in quotes, and "-" for an empty
// one.
func quoted(value string) string {
	if value == "" {
		return "-"
	}
	if q := strconv.Quote(value); q != `"`+value+`"` || strings.ContainsAny(value, " '") {
		return q
	}
	return value
}
