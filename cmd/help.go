package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
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

func helpCommand(e *env.Env) *options.Command {
	return &options.Command{
		Name:  options.HelpName,
		Usage: "show the help of a subcommand",
		Args:  "[SUBCOMMAND]",
		Define: func() ([]options.Option, func(*options.Request) error) {
			return nil, func(r *options.Request) error {
				all := r.Line.Commands
				c := all[0]
				if len(r.Args) > 0 && r.Args[0] != "" {
					if c = options.Find(all, r.Args[0]); c == nil {
						return locks.Unknown("subcommand", r.Args[0], options.Names(all))
					}
				}
				return printHelp(e.Out, c)
			}
		},
	}
}

// printHelp prints the help of a command. That of run is that of leaderrun.
func printHelp(w io.Writer, c *options.Command) error {
	var b strings.Builder
	if c.Name == "run" {
		b.WriteString(synopsis)
		b.WriteString("\nOther subcommands: status, watch, wait, check, resign, release, forget,\ndoctor, config, backends, completion, version, help (leaderrun help NAME).\n")
		b.WriteString("Each option has a variable: --lock is LEADERRUN_LOCK. The manual: man leaderrun\n")
	} else {
		fmt.Fprintf(&b, "Usage: %s\n\n%s.\n", strings.TrimSpace("leaderrun "+c.Name+" [OPTIONS] "+c.Args), capitalize(c.Usage))
	}
	for _, group := range options.Groups {
		printOptions(&b, group, c.Shown())
	}
	if c.Name == "run" {
		b.WriteString(examples + statuses)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printOptions(b *strings.Builder, group string, all []options.Option) {
	title := "\n" + group + ":\n"
	for i := range all {
		o := &all[i]
		if o.Group != group {
			continue
		}
		b.WriteString(title)
		title = ""
		value, text := o.Phrase()
		if o.Default != "" {
			text += " (default: " + o.Default + ")"
		}
		printOption(b, strings.TrimRight(optionName(o)+" "+value, " "), text)
	}
}

func optionName(o *options.Option) string {
	if o.Short == "" {
		return "    --" + o.Name
	}
	return "-" + o.Short + ", --" + o.Name
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
