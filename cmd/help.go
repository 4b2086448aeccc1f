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

const usage = `Usage: leaderrun [OPTIONS] [--] COMMAND [ARG...]
       leaderrun [OPTIONS] --lock NAME -c 'COMMAND | LINE'
`

const short = `Run a command on one machine at a time. Without --backend the lock covers one user on this machine.

` + usage

const shortEnd = `
Examples:
  leaderrun -- ./job.sh                                         one at a time on this machine
  leaderrun -b etcd -- worker                                   one at a time in the fleet
  */5 * * * * leaderrun -n -E 0 --once-per 5m -b etcd -- backup  in crontab(5)
  leaderrun -b etcd --rejoin --restart on-failure -- worker     a service

Subcommands: status watch wait check resign release forget doctor config backends completion version
See also: leaderrun --help-all, leaderrun help SUBCOMMAND, man leaderrun
`

const long = `Run a command on at most one machine at a time. Without --backend, the lock is
a file, and covers one user on this machine.

` + usage + `
leaderrun takes a lock and renews it while the command runs. If it cannot renew
the lock, it ends the whole job before anyone else can take it.

Other subcommands: status, watch, wait, check, resign, release, forget,
doctor, config, backends, completion, version, help (leaderrun help NAME).
Most options can be set by a variable, such as LEADERRUN_LOCK for --lock.
The manual: man leaderrun
`

const examples = `
Examples:
  leaderrun -- ./job.sh                        one at a time on this machine
  leaderrun -b etcd -- worker                  one at a time in the fleet
  */5 * * * * leaderrun -n -E 0 --once-per 5m -b etcd -- backup  in crontab(5)
  leaderrun -b etcd --once-per day -- report   once a day in the fleet
  leaderrun -b etcd --rejoin --restart on-failure -- worker      a service
  while leaderrun check --for 5s; do step; done         in a job
`

const statuses = `
Exit status: the job's own, or
  64 usage · 69 backend unreachable · 71 out of processes · 75 lock held (-n,
  -w; see -E) · 76 lock lost or given up, job stopped · 77 permission denied ·
  78 bad config file · 124 --max-runtime is over · 126 command not executable ·
  127 command not found · 128+N job died of signal N
`

func helpCommand(e *env.Env) *options.Command {
	return &options.Command{
		Name:  options.HelpName,
		Usage: "show the help of a subcommand",
		Args:  "[SUBCOMMAND]",
		Define: func() ([]options.Option, func(*options.Invocation) error) {
			var all bool
			helpAll := options.Option{Name: "all", Hidden: true, Value: &all, From: options.Arguments} // --help-all sets it
			return []options.Option{helpAll}, func(r *options.Invocation) error {
				known := r.Line.Commands
				c := known[0]
				if len(r.Args) > 0 && r.Args[0] != "" {
					if c = options.Find(known, r.Args[0]); c == nil {
						return locks.Unknown("subcommand", r.Args[0], options.Names(known))
					}
				}
				if c.Name == "run" && !all {
					return printShort(e.Out, c)
				}
				return printHelp(e.Out, c)
			}
		},
	}
}

// printShort prints the help that most people need: the common options of a run, if
// possible on one line each.
func printShort(w io.Writer, c *options.Command) error {
	var b strings.Builder
	b.WriteString(short + "\n")
	for _, group := range options.Groups {
		label := labels[group]
		for _, o := range c.Shown() {
			if o.Group != group || !o.Common {
				continue
			}
			value, text := o.Brief()
			printColumns(&b, 36, 100, fmt.Sprintf("%-8s %s", label, named(&o, value)), text)
			label = ""
		}
	}
	b.WriteString(shortEnd)
	_, err := io.WriteString(w, b.String())
	return err
}

// labels has short forms of the headings.
var labels = map[string]string{
	"Which lock": "Lock", "Waiting": "Waiting", "The job": "Job", "Lease and stopping": "Lease", "As a cron job": "Cron",
	"As a service": "Service", "Health of the job": "Health", "Hooks": "Hooks", "Config file": "Config", "Output": "Output", "Help": "Help",
}

// printHelp prints the help of a subcommand, with all its options.
func printHelp(w io.Writer, c *options.Command) error {
	var b strings.Builder
	if c.Name == "run" {
		b.WriteString(long)
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
		printColumns(b, 29, output.Width, "  "+named(o, value), text)
	}
}

// named returns an option's names and the name of its value.
func named(o *options.Option, value string) string {
	name := "    --" + o.Name
	if o.Short != "" {
		name = "-" + o.Short + ", --" + o.Name
	}
	return strings.TrimRight(name+" "+value, " ")
}

// printColumns prints names, and in a second column text that is wrapped at a width.
func printColumns(b *strings.Builder, indent, width int, names, text string) {
	line := fmt.Sprintf("%-*s", indent, names)
	if len(line) > indent {
		b.WriteString(line + "\n")
		line = strings.Repeat(" ", indent)
	}
	for word := range strings.FieldsSeq(text) {
		if len([]rune(line))+1+len([]rune(word)) > width {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", indent)
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
