package cmd

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

const synopsis = `Usage: leaderrun [OPTIONS] [--] COMMAND [ARG...]
       leaderrun [OPTIONS] -c 'COMMAND | LINE' --lock NAME

Run a command on exactly one machine at a time: take a lock, run the command
while renewing it, and end the whole job before anyone else can hold the lock.
`

const examples = `
Examples:
  leaderrun -- ./job.sh                        one at a time on this machine
  leaderrun -b etcd -- worker                  one at a time in the fleet
  */5 * * * * leaderrun -n -E 0 -b etcd -- backup       a line of crontab(5)
  leaderrun -b etcd --once-per day -- report   once a day in the fleet
  leaderrun -b etcd --rejoin --restart on-failure -- worker      a service
  while leaderrun check --for 5s; do step; done         in a job
`

const statuses = `
Exit status: the job's own, or
  64 usage · 69 backend unreachable · 75 lock held (-n, -w; see -E) · 76 lock
  lost or given up, job stopped · 77 permission denied · 78 bad config file ·
  124 --max-runtime is over · 126 command not executable · 127 command not
  found · 128+N job died of signal N
`

// helpName is an option of every command. route turns it into the help
// command: the library would print a help of its own.
const helpName = "help"

func helpFlag() cli.Flag {
	return &cli.BoolFlag{Name: helpName, Aliases: []string{"h"}, Usage: "show this help", Category: "Help"}
}

func (p *program) helpCommand() *cli.Command {
	return &cli.Command{
		Name:      "help",
		Usage:     "show the help of a subcommand",
		ArgsUsage: "[SUBCOMMAND]",
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "missing", Hidden: true}},
		Action: func(ctx *cli.Context) error {
			name := ctx.Args().First()
			switch {
			case ctx.Bool("missing"):
				return output.WithHint(&locks.UsageError{What: "no command is given"}, "leaderrun --help tells how to use it")
			case name == "":
				name = "run"
			}
			c := find(p.commands(), name)
			if c == nil {
				return locks.Unknown("subcommand", name, commandNames(p.commands()))
			}
			return printHelp(p.out, c)
		},
	}
}

func commandNames(commands []*cli.Command) []string {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return names
}

// misnamed completes the error about a command that does not exist: with a hint,
// if its name is nearly that of a subcommand and no "--" came before it, or is
// the URL of a backend, which may have a password.
func (p *program) misnamed(name string, err error) error {
	known := []string{"run", "status", "watch", "wait", "check", "resign", "release", "forget", "doctor", "config", "backends", "completion", "version", "help"}
	near := locks.Nearest(name, known)
	var start *proc.StartError
	switch {
	case near != "" && !p.dashed:
		return output.WithHint(err, fmt.Sprintf("did you mean the subcommand %q?", near))
	case strings.Contains(name, "://") && errors.As(err, &start):
		start.Command = locks.RedactText(name)
		return output.WithHint(err, "a backend is named with --backend")
	}
	return err
}

// printHelp prints the help of a command. That of run is that of leaderrun.
func printHelp(w io.Writer, c *cli.Command) error {
	var b strings.Builder
	if c.Name == "run" {
		b.WriteString(synopsis)
		b.WriteString("\nOther subcommands: status, watch, wait, check, resign, release, forget,\ndoctor, config, backends, completion, version, help (leaderrun help NAME).\n")
		b.WriteString("Each option has a variable: --lock is LEADERRUN_LOCK. The manual: man leaderrun\n")
	} else {
		fmt.Fprintf(&b, "Usage: %s\n\n%s.\n", strings.TrimSpace("leaderrun "+c.Name+" [OPTIONS] "+c.ArgsUsage), capitalize(c.Usage))
	}
	for _, heading := range headings {
		printOptions(&b, heading, c.Flags)
	}
	if c.Name == "run" {
		b.WriteString(examples + statuses)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printOptions(b *strings.Builder, heading string, flags []cli.Flag) {
	title := "\n" + heading + ":\n"
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		if c, in := f.(cli.CategorizableFlag); !ok || !in || c.GetCategory() != heading {
			continue
		}
		b.WriteString(title)
		title = ""
		value, usage := unquoteUsage(d.GetUsage())
		if def := d.GetDefaultText(); def != "" && takesValue(f) && !strings.Contains(usage, "(default") {
			usage += " (default: " + def + ")"
		}
		printOption(b, optionNames(f, value), usage)
	}
}

// unquoteUsage finds the name of an option's value, in back quotes, as package
// flag does.
func unquoteUsage(usage string) (value, text string) {
	before, rest, ok := strings.Cut(usage, "`")
	value, after, closed := strings.Cut(rest, "`")
	if !ok || !closed {
		return "", usage
	}
	return value, before + value + after
}

func optionNames(f cli.Flag, value string) string {
	names := f.Names()
	s := "    --" + names[0]
	if len(names) > 1 {
		s = "-" + names[1] + ", --" + names[0]
	}
	if value != "" {
		s += " " + value
	}
	return s
}

// printOption prints names and text in two columns.
func printOption(b *strings.Builder, names, text string) {
	const indent = 29
	line := fmt.Sprintf("  %-*s", indent-2, names)
	if len(line) > indent {
		b.WriteString(line + "\n")
		line = strings.Repeat(" ", indent)
	}
	for word := range strings.FieldsSeq(text) {
		if len([]rune(line))+1+len([]rune(word)) > output.Width {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", indent)
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
