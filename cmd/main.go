// Package cmd is what a user types: it turns arguments and environment into a
// run of package runner, and errors into exit statuses.
package cmd

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/helper"
)

// An Env is what the program is made of; see NewEnv.
type Env struct {
	Version  string
	Registry *locks.Registry
	Programs *helper.Programs // finds the helper programs of backends that are not built in
}

// Main runs the program with the given arguments, the first of which is its
// own name, and returns the exit status.
func Main(args []string, env Env) int {
	p := &program{Env: env, out: os.Stdout, term: newTerm(os.Stderr)}
	args = hidePasswords(args)
	app := p.app()
	routed, err := route(args, app.Commands)
	if err == nil {
		p.given, p.dashed = routed, slices.Contains(args, "--")
		p.beginHelper(routed)
		err = app.Run(routed)
		p.Programs.End()
	}
	if p.term.log == nil { // the options were not read
		p.term.early(args)
	}
	return p.report(err)
}

// A program is one invocation.
type program struct {
	Env
	out    io.Writer // for data that was asked for
	term   *term     // for everything else
	given  []string  // the arguments, as route spells them
	dashed bool      // there is a "--" among those that the user wrote
	exit   int       // the exit status, if there is no error
	held   int       // the exit status for a lock that is held
}

// app describes the commands. Arguments reach it normalized by route, so that
// of the library's parsing little more is used than flags, their variables and
// their precedence.
func (p *program) app() *cli.App {
	app := &cli.App{
		Name:            "leaderrun",
		HideHelp:        true,
		HideHelpCommand: true,
		HideVersion:     true,
		Writer:          io.Discard,
		ErrWriter:       io.Discard,
		OnUsageError:    usageError,
		// The error of a job that failed satisfies the library's ExitCoder: it
		// must not end the process before the lock is released.
		ExitErrHandler: func(*cli.Context, error) {},
		Commands: []*cli.Command{
			p.runCommand(),
			p.checkCommand(),
			p.backendsCommand(),
			p.versionCommand(),
			p.helpCommand(),
		},
	}
	for _, c := range app.Commands {
		c.OnUsageError = usageError
		c.HideHelp = true
		c.Flags = append(c.Flags, helpFlag())
	}
	return app
}

// usageError takes what the library finds wrong with the arguments after route
// found nothing.
func usageError(_ *cli.Context, err error, _ bool) error {
	return &locks.UsageError{What: locks.RedactText(err.Error())}
}

// isGiven reports whether an option is on the command line. Another one may
// have a value, too, from its variable.
func (p *program) isGiven(name string) bool {
	return slices.ContainsFunc(p.given, func(arg string) bool { return strings.HasPrefix(arg, "--"+name+"=") })
}

// noArguments refuses arguments where a command takes none.
func noArguments(ctx *cli.Context) error {
	if !ctx.Args().Present() {
		return nil
	}
	return &locks.UsageError{What: "leaderrun " + ctx.Command.Name + " takes no argument, but was given " + quote(ctx.Args().First())}
}

// reserved are the names of subcommands that are promised and not there yet.
// They run no program of that name, or scripts would break when they come.
var reserved = []string{"status", "watch", "wait", "resign", "release", "doctor", "config", "completion"}

func isReserved(name string) bool { return slices.Contains(reserved, name) }

// isClass reports which of the classes an error is of.
func isClass(err error, classes ...error) bool {
	return slices.ContainsFunc(classes, func(c error) bool { return errors.Is(err, c) })
}
