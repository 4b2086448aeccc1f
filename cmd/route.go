package cmd

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// Arguments are read as getopt_long(3) with a leading "+" reads them, which is
// how flock(1) and timeout(1) read theirs: options end at the first argument
// that is none, or at "--"; short ones may be joined, with a value last, as in
// "-nE0". The library would read "-nE0" as one option and look for subcommands
// even after "--". Only the names of locks that forget takes may stand before options,
// as after rm(1): one that a name hides would be a lock to forget.

// route finds the subcommand and spells out its options: it returns program
// name, subcommand, options as --name=value, "--", and the rest unchanged.
func route(args []string, commands []*cli.Command) ([]string, error) {
	r := newRouter(commands)
	if len(args) == 0 {
		args = []string{"leaderrun"}
	}
	if len(args) == 1 && os.Getenv("LEADERRUN_JOB") == "" {
		return []string{args[0], "help", "--missing"}, nil
	}
	if err := r.read(args[1:]); err != nil {
		return nil, err
	}
	switch {
	case r.count(helpName) > 0:
		return []string{args[0], "help", "--", r.command.Name}, nil
	case r.count(versionName) > 0:
		return []string{args[0], "version", "--"}, nil
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	out := []string{args[0], r.command.Name}
	for _, o := range r.options {
		out = append(out, "--"+o.name+"="+o.value)
	}
	out = append(out, "--")
	if r.verb != "" {
		out = append(out, r.verb)
	}
	return append(append(out, r.names...), r.rest...), nil
}

type option struct {
	name  string // the long name
	value string
	shown string // as the user wrote it
}

type router struct {
	commands []*cli.Command
	command  *cli.Command // the one that is named, else run
	named    bool
	options  []option
	names    []string // of locks, for forget
	verb     string   // what a command like config is to do, or ""
	rest     []string
}

func newRouter(commands []*cli.Command) *router {
	return &router{commands: commands, command: find(commands, "run")}
}

func (r *router) read(args []string) error {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		var err error
		switch {
		case arg == "--":
			r.rest = args
			return nil
		case strings.HasPrefix(arg, "--"):
			args, err = r.long(arg, args)
		case strings.HasPrefix(arg, "-") && arg != "-":
			args, err = r.short(arg, args)
		case !r.named && find(r.commands, arg) != nil:
			r.command, r.named = find(r.commands, arg), true
		case r.named && r.command.Name == "config" && r.verb == "" && arg == showVerb:
			r.verb = arg // options may follow
		case r.named && r.command.Name == forgetName:
			r.names = append(r.names, arg) // options may follow
		default:
			r.rest = append([]string{arg}, args...)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check refuses options that the subcommand does not have, and values, also
// those of variables, that an option cannot have.
func (r *router) check() error {
	for _, o := range r.options {
		f := lookup(r.command, o.name)
		if f == nil {
			return unknownOption(r.command, o.shown)
		}
		if err := checkValue(f, "option "+o.shown, o.value); err != nil {
			return err
		}
	}
	for _, f := range r.command.Flags {
		for _, name := range f.(cli.DocGenerationFlag).GetEnvVars() {
			if value := os.Getenv(name); value != "" {
				if err := checkValue(f, name, value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// long reads "--name", "--name=value" or "--name value".
func (r *router) long(arg string, args []string) ([]string, error) {
	name, value, joined := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
	f := r.lookup(name)
	if f == nil || len(name) < 2 {
		return nil, unknownOption(r.command, "--"+name)
	}
	return r.take(f, "--"+name, value, joined, args)
}

// short reads "-n", "-w10", "-w 10", or several joined.
func (r *router) short(arg string, args []string) ([]string, error) {
	for i, c := range arg[1:] {
		f := r.lookup(string(c))
		if f == nil {
			return nil, unknownOption(r.command, "-"+string(c))
		}
		tail := arg[1+i+len(string(c)):]
		if takesValue(f) {
			return r.take(f, "-"+string(c), strings.TrimPrefix(tail, "="), tail != "", args)
		}
		if _, err := r.take(f, "-"+string(c), "", false, nil); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// take notes an option, with its value from the next argument if there is none
// joined to it. A repeated switch counts, as in -vv.
func (r *router) take(f cli.Flag, shown, value string, joined bool, args []string) ([]string, error) {
	name := f.Names()[0]
	switch {
	case takesValue(f) && !joined:
		if len(args) == 0 {
			return nil, &lackingValue{&locks.UsageError{What: "option " + shown + " needs a value"}, f}
		}
		value, args = args[0], args[1:]
	case !takesValue(f) && !joined:
		value = "true"
		if counts(f) {
			value = strconv.Itoa(1 + r.count(name))
		}
	}
	r.options = append(r.options, option{name: name, value: value, shown: shown})
	return args, nil
}

func (r *router) count(name string) int {
	n := 0
	for _, o := range r.options {
		if o.name == name {
			n++
		}
	}
	return n
}

// lookup finds an option of the command or, while none is named, of any: an
// option may stand before the subcommand.
func (r *router) lookup(name string) cli.Flag {
	if f := lookup(r.command, name); f != nil || r.named {
		return f
	}
	for _, c := range r.commands {
		if f := lookup(c, name); f != nil {
			return f
		}
	}
	return nil
}

func lookup(c *cli.Command, name string) cli.Flag {
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func find(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	if _, ok := f.(*cli.BoolFlag); ok {
		return false
	}
	return !counts(f)
}

// counts reports whether a switch may be repeated.
func counts(f cli.Flag) bool {
	g, ok := f.(*cli.GenericFlag)
	if !ok {
		return false
	}
	_, ok = g.Value.(*level)
	return ok
}

func unknownOption(c *cli.Command, shown string) error {
	err := &locks.UsageError{What: "unknown option " + locks.Printable(locks.Abbreviate(shown))}
	if c.Name != "run" {
		err.What += " of leaderrun " + c.Name
	}
	var known []string
	for _, f := range c.Flags {
		for _, name := range f.Names() {
			if len(name) > 1 {
				known = append(known, "--"+name)
			}
		}
	}
	err.Near = locks.Nearest(shown, known)
	if c.Name == forgetName && (shown == "--lock" || shown == "-l") { // as all others have it
		return output.WithHint(err, "name locks without an option: leaderrun forget NAME...")
	}
	return err
}

// A lackingValue says that the last argument is an option, and its value is not there.
type lackingValue struct {
	*locks.UsageError
	option cli.Flag
}
