package options

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// We read arguments as getopt_long(3) does with a leading "+", like flock(1) and
// timeout(1): options end at the first argument that is not an option, or at "--". Short
// options may be joined, and the last may have a value, as in "-nE0". The library would read
// "-nE0" as one option, and look for subcommands even after "--".

// A Line is a command line.
type Line struct {
	Commands []*Command
	Command  *Command // the one that is named, or else the first
	Named    bool
	Given    []Given
	Words    []string // arguments before options; see Command.Early
	Rest     []string // what follows the options; nil if nothing does
	Dashed   bool     // there is a "--"
}

// Given is an option on the command line.
type Given struct {
	*Option
	Text  string // its value
	shown string // as the user wrote the option
}

// Read reads the arguments of leaderrun. With an error it returns what it has read.
func Read(args []string, commands []*Command) (*Line, error) {
	l, err := ReadPart(args, commands)
	switch {
	case err != nil:
		return l, err
	case l.Count(HelpName)+l.Count(HelpAllName) > 0:
		*l = Line{Commands: commands, Command: Find(commands, HelpName), Rest: []string{l.Command.Name}, Given: l.helpAll()}
	case l.Count(VersionName) > 0:
		*l = Line{Commands: commands, Command: Find(commands, VersionName)}
	}
	return l, l.check()
}

// helpAll returns the options of the subcommand help that correspond to --help-all.
func (l *Line) helpAll() []Given {
	if l.Count(HelpAllName) == 0 {
		return nil
	}
	return []Given{{Option: &Option{Name: "all"}, Text: "true", shown: "--" + HelpAllName}}
}

// check returns an error for an option that the subcommand does not have, and for a value
// that an option cannot have. It checks all values, including those of variables, even if
// they do not apply.
func (l *Line) check() error {
	for i, g := range l.Given {
		o := l.Command.option(g.Name)
		if o == nil {
			return l.unknown(g.shown)
		}
		if err := o.check("option "+g.shown, g.Text); err != nil {
			return err
		}
		l.Given[i].Option = o
	}
	for _, o := range l.Command.Options() {
		if text := os.Getenv(o.Variable()); text != "" {
			if err := o.check(o.Variable(), text); err != nil {
				return err
			}
		}
	}
	return nil
}

// ReadPart reads arguments that may be incomplete, and does not check the values.
func ReadPart(args []string, commands []*Command) (*Line, error) {
	l := &Line{Commands: commands, Command: commands[0], Dashed: slices.Contains(args, "--")}
	return l, l.read(args)
}

// read goes on after an error, because --log-format may follow. It returns the first error.
func (l *Line) read(args []string) (first error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		rest, err := args, error(nil)
		switch {
		case arg == "--":
			l.Rest = args
			return first
		case strings.HasPrefix(arg, "--"):
			rest, err = l.long(arg, args)
		case strings.HasPrefix(arg, "-") && arg != "-":
			rest, err = l.short(arg, args)
		case !l.Named && Find(l.Commands, arg) != nil:
			l.Command, l.Named = Find(l.Commands, arg), true
		case l.Named && len(l.Words) < l.Command.Early:
			l.Words = append(l.Words, arg)
		default:
			l.Rest = append([]string{arg}, args...)
			return first
		}
		if err == nil {
			args = rest
		} else if first == nil {
			first = err
		}
	}
	return first
}

// long reads an option of the form "--name", "--name=value" or "--name value".
func (l *Line) long(arg string, args []string) ([]string, error) {
	name, value, joined := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
	o := l.Lookup(name)
	if o == nil || len(name) < 2 {
		return nil, l.unknown("--" + name)
	}
	return l.take(o, "--"+name, value, joined, args)
}

// short reads options of the form "-n", "-w10" or "-w 10", or several joined ones.
func (l *Line) short(arg string, args []string) ([]string, error) {
	for i, c := range arg[1:] {
		o := l.Lookup(string(c))
		if o == nil {
			return nil, l.unknown("-" + string(c))
		}
		tail := arg[1+i+len(string(c)):]
		if o.TakesValue() {
			return l.take(o, "-"+string(c), strings.TrimPrefix(tail, "="), tail != "", args)
		}
		if _, err := l.take(o, "-"+string(c), "", false, nil); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// take stores an option. If no value is joined to it, the value is the next argument.
// Repeated switches are counted, as in -vv.
func (l *Line) take(o *Option, shown, value string, joined bool, args []string) ([]string, error) {
	switch {
	case joined:
	case o.TakesValue() && len(args) == 0:
		return nil, &LackingValue{locks.Usagef("option %s needs a value", shown), o}
	case o.TakesValue():
		value, args = args[0], args[1:]
	case o.Counts():
		value = strconv.Itoa(1 + l.Count(o.Name))
	default:
		value = "true"
	}
	l.Given = append(l.Given, Given{o, value, shown})
	return args, nil
}

// Count returns how often an option was given.
func (l *Line) Count(name string) (n int) {
	for _, g := range l.Given {
		if g.Name == name {
			n++
		}
	}
	return n
}

// Text returns the value of an option on the command line, or else that of its variable. It
// may be invalid.
func (l *Line) Text(name string) string {
	text := os.Getenv((&Option{Name: name}).Variable())
	for _, g := range l.Given {
		if g.Name == name {
			text = g.Text
		}
	}
	return text
}

// Lookup finds an option of the subcommand. As long as none is named, it looks in all of
// them, because options may precede the subcommand.
func (l *Line) Lookup(name string) *Option {
	if o := l.Command.option(name); o != nil || l.Named {
		return o
	}
	for _, c := range l.Commands {
		if o := c.option(name); o != nil {
			return o
		}
	}
	return nil
}

func (l *Line) unknown(shown string) error {
	err := locks.Usagef("unknown option %s", locks.Printable(locks.Abbreviate(shown)))
	if l.Command != l.Commands[0] {
		err.What += " of leaderrun " + l.Command.Name
	}
	var known []string
	for _, o := range l.Command.Options() {
		known = append(known, "--"+o.Name)
	}
	err.Near = locks.Nearest(shown, known)
	if c := l.Command; c.Early > 1 && (shown == "--lock" || shown == "-l") { // which most subcommands have
		return output.WithHint(err, "name locks without an option: leaderrun "+c.Name+" "+c.Args)
	}
	if l.Command != l.Commands[0] && !strings.HasPrefix(shown, "--") {
		return err // flock's -o, say, is an option of a run
	}
	return hintInstead(err, strings.TrimPrefix(shown, "--"))
}

// A LackingValue says that the last argument is an option without its value.
type LackingValue struct {
	*locks.UsageError
	Option *Option
}
