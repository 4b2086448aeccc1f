package cmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/run"
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
		Define: func() ([]options.Option, func(*options.Invocation) error) {
			opt := options.NewValues()
			return opt.Table(), func(r *options.Invocation) error {
				switch {
				case len(r.Args) == 0 || r.Args[0] == "":
					return output.WithHint(locks.Usagef("leaderrun config needs a subcommand"), "leaderrun config show [OPTIONS]")
				case r.Args[0] != showVerb:
					return locks.Unknown("subcommand", "config "+r.Args[0], []string{"config " + showVerb})
				}
				return showConfig(e, r, opt)
			}
		},
	}
}

// showConfig prints all options of a run, as they would apply, and what follows from them: the
// store to which the backend leads, the lock that is named after the command, and the grace of a
// job whose lease is about to end.
func showConfig(e *env.Env, r *options.Invocation, opt *options.Values) error {
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	for _, s := range r.Settings {
		if s.Name == "lock" && s.Text == "" && len(r.Args) > 1 && opt.ShellCommand == "" {
			if name, err := run.LockName(r.Args[1:]); err == nil {
				s.Text, s.Source = name, "the command's name"
			}
		}
		if s.From == options.Anywhere || s.Name == "command" && s.Rank > options.Default {
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, quoted(redacted(s)), s.Source)
		}
		switch s.Name {
		case "backend":
			at, from := storeOf(e, opt)
			fmt.Fprintf(w, "store\t%s\t%s\n", quoted(at), from)
		case "kill-after":
			fmt.Fprintf(w, "grace\t%s\tkill-after, and a third of the ttl\n", opt.Timing().Grace)
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

// storeOf returns the address to which the backend leads, with the settings of the environment and
// of files, or "" and why it is not known. It contacts no server.
func storeOf(e *env.Env, opt *options.Values) (at, from string) {
	u, err := locks.Parse(opt.Backend)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), opt.ConnectTimeout.D)
		defer cancel()
		var l locks.Lock
		o := locks.Options{Name: "leaderrun", Holder: env.NewID(), TTL: opt.TTL.D, ConnectTimeout: opt.ConnectTimeout.D, Version: e.Version} // any name is fine
		if l, err = e.Registry.Open(ctx, u, o); err == nil {
			defer func() { _ = l.Close() }() // it holds nothing
			if err = locks.Require(ctx, l, ""); err == nil {
				return options.Address(ctx, l, u), "where the backend leads" + options.Covers(u)
			}
		}
	}
	return "", "not known: " + output.OneLine(err.Error())
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
