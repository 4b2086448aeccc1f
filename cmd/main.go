// Package cmd is the command line of leaderrun. It calls the subcommands, most of which are
// in packages below, and leads from arguments to an exit status.
package cmd

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/leaderrun/leaderrun/cmd/complete"
	"github.com/leaderrun/leaderrun/cmd/doctor"
	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/operate"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/run"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/runner/guard"
)

// Main runs the program and returns the exit status, or ends us by the signal that has ended
// the run. The first argument is the program's name.
func Main(args []string, e env.Env) int {
	if guard.IsRole(args) {
		return guard.Main(args)
	}
	if e.IsMonitor(args) {
		return e.Monitor(args)
	}
	args = hidePasswords(args)
	line, err := options.Read(args[min(1, len(args)):], commands(&e))
	if err == nil {
		if err := afford(line.Command.Name); err != nil {
			fmt.Fprintln(os.Stderr, "leaderrun: error:", err) // the Console itself needs threads
			return output.ExitInternal
		}
		err = do(line, &e, len(args) < 2)
	}
	if errors.Is(err, threads.ErrOut) && !e.Console.Started() { // which needs threads
		fmt.Fprintln(os.Stderr, "leaderrun: error:", err)
		return output.Status(err)
	}
	if !e.Console.Started() { // the command line has an error
		e.Console.Start(output.Settings{Verbose: 1, JSON: line.Text("log-format") == "json"})
	}
	status := e.Console.Report(err)
	output.Die(err)
	return status
}

// do runs the subcommand of a command line.
func do(line *options.Line, e *env.Env, empty bool) error {
	if empty && line.Text("job") == "" {
		return output.WithHint(locks.Usagef("no command given"), "see leaderrun --help")
	}
	r, err := options.Resolve(line)
	if err != nil {
		return err
	}
	if r.Hidden != "" {
		e.Console.Later(func(log *slog.Logger) {
			log.Info("ignoring a config file whose directory you may not enter", "path", r.Hidden)
		})
	}
	if backend := r.Setting("backend"); !r.Given("cursor") { // of a completion, at which nothing may be printed
		text := ""
		if backend != nil {
			text = backend.Text
		}
		for _, m := range options.Misspellings(os.Environ(), text) {
			e.Console.Later(func(log *slog.Logger) {
				if m.Instead != "" {
					log.Warn("ignoring the variable of an option that leaderrun no longer has", "err", fmt.Errorf("%s; %s", m.Variable, m.Instead))
					return
				}
				log.Warn("ignoring an unknown variable, which may be misspelled", "err", fmt.Errorf("%s; did you mean %s?", m.Variable, m.Near))
			})
		}
	}
	return line.Command.Do(r)
}

// Commands returns the subcommands, for documents and tests.
func Commands() []*options.Command { return commands(new(env.Env)) }

// commands returns the subcommands. The first one need not be named.
func commands(e *env.Env) []*options.Command {
	return slices.Concat([]*options.Command{run.Command(e)}, operate.Commands(e),
		[]*options.Command{doctor.Command(e), configCommand(e), backendsCommand(e), complete.Command(e), versionCommand(e), helpCommand(e)})
}
