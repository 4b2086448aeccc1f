// Package cmd is what a user types: it turns arguments and environment into a
// run of package runner, and errors into exit statuses.
package cmd

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/helper"
)

// An Env is what the program is made of; see NewEnv.
type Env struct {
	Version  string
	Registry *locks.Registry
	Programs *helper.Programs // finds the helper programs of backends that are not built in
	Now      func() time.Time // the wall clock, by which a run belongs to a window
}

// Main runs the program with the given arguments, the first of which is its
// own name, and returns the exit status.
func Main(args []string, env Env) int {
	if status, ok := beGuard(args); ok {
		return status
	}
	if status, ok := beProbe(args); ok {
		return status
	}
	if status, ok := beMetrics(args); ok {
		return status
	}
	p := &program{Env: env, out: os.Stdout, term: output.NewTerm(os.Stderr)}
	args = hidePasswords(args)
	commands := p.commands()
	routed, err := route(args, commands)
	if err == nil {
		if err := afford(routed[1]); err != nil {
			fmt.Fprintln(os.Stderr, "leaderrun: error:", err) // the usual way to say it takes some
			return output.ExitInternal
		}
	}
	if err == nil {
		p.given, p.dashed = routed, slices.Contains(args, "--")
		routed, err = p.configure(routed)
	}
	if err == nil {
		p.begin(routed)
		err = dispatch(find(commands, routed[1]), routed[2:])
		p.end()
	}
	if !p.term.Started() { // the options were not read
		p.term.Start(output.Settings{Verbose: 1, JSON: wantsJSON(args)})
	}
	return p.term.Report(err)
}

// A program is one invocation.
type program struct {
	Env
	out       io.Writer      // for data that was asked for
	term      *output.Term   // for everything else
	given     []string       // the arguments, as route spells them
	dashed    bool           // there is a "--" among those that the user wrote
	described []*cli.Command // see commands
	starter   starter        // of the first job; nil: none was begun, or it was used
}

// commands describes the subcommands. There is one description of each, as to make
// them takes part of the time to start.
func (p *program) commands() []*cli.Command {
	if p.described != nil {
		return p.described
	}
	p.described = []*cli.Command{
		p.runCommand(),
		p.statusCommand(),
		p.watchCommand(),
		p.waitCommand(),
		p.checkCommand(),
		p.resignCommand(),
		p.releaseCommand(),
		p.forgetCommand(),
		p.doctorCommand(),
		p.configCommand(),
		p.backendsCommand(),
		p.completionCommand(),
		p.versionCommand(),
		p.helpCommand(),
	}
	for _, c := range p.described {
		c.Flags = append(c.Flags, helpFlag())
	}
	return p.described
}

// dispatch runs a subcommand with arguments as route spells them. Of the
// library it uses flags, their variables and their precedence. Its App would
// find the subcommand, too, but link templates for a help that is not ours,
// which are a quarter of the program and a tenth of its start-up; and it ends
// the process when an error satisfies its ExitCoder, as that of a job that
// failed does, before the lock is released.
func dispatch(c *cli.Command, args []string) error {
	set := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range c.Flags {
		if err := f.Apply(set); err != nil {
			return wrongOption(err)
		}
	}
	if err := set.Parse(args); err != nil {
		return wrongOption(err)
	}
	ctx := cli.NewContext(nil, set, nil)
	ctx.Command = c
	return c.Action(ctx)
}

// wrongOption takes what the library finds wrong with the options after route
// found nothing.
func wrongOption(err error) error { return &locks.UsageError{What: locks.RedactText(err.Error())} }

// isGiven reports whether an option is on the command line. Another one may
// have a value, too, from its variable.
func (p *program) isGiven(name string) bool {
	options := p.given[:max(0, slices.Index(p.given, "--"))] // what follows is the job's
	return slices.ContainsFunc(options, func(arg string) bool { return strings.HasPrefix(arg, "--"+name+"=") })
}

// noArguments refuses arguments where a command takes none.
func noArguments(ctx *cli.Context) error {
	if !ctx.Args().Present() {
		return nil
	}
	return &locks.UsageError{What: "leaderrun " + ctx.Command.Name + " takes no argument, but was given " + output.Quote(ctx.Args().First())}
}

// wantsJSON guesses from the arguments whether messages are to be JSON.
func wantsJSON(args []string) bool {
	json := os.Getenv("LEADERRUN_LOG_FORMAT") == "json"
	for i, arg := range args {
		value, joined := strings.CutPrefix(arg, "--log-format=")
		switch {
		case joined:
			json = value == "json"
		case arg == "--log-format" && i+1 < len(args):
			json = args[i+1] == "json"
		}
	}
	return json
}

// isClass reports which of the classes an error is of.
func isClass(err error, classes ...error) bool {
	return slices.ContainsFunc(classes, func(c error) bool { return errors.Is(err, c) })
}
