package options

import (
	"flag"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// An Option is a row of the table of options.
type Option struct {
	Name    string // the long one, without dashes; also its key in a config file
	Short   string // "" if it has none
	Group   string // the heading that it stands under in help
	Value   any    // where its value goes: a *string, a *bool, or a cli.Generic
	Default string // "" if there is none
	Usage   string // a phrase, with the name of its value in back quotes; details follow a semicolon
	From    Sources
	Common  bool // shown in the short help of a run, because many people use it
	Hidden  bool // not shown in any help
}

// Sources says what may set an option.
type Sources int

const (
	Anywhere  Sources = iota // arguments, a variable, the config file
	NotInFile                // arguments, a variable
	Arguments
)

// Variable returns the name of the environment variable that sets the option, or "".
func (o *Option) Variable() string {
	if o.From == Arguments {
		return ""
	}
	return "LEADERRUN_" + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_"))
}

// TakesValue reports whether the option has a value, unlike a switch.
func (o *Option) TakesValue() bool {
	_, is := o.Value.(*bool)
	return !is && !o.Counts()
}

// Counts reports whether the option is a switch that may be repeated.
func (o *Option) Counts() bool {
	_, ok := o.Value.(*Level)
	return ok
}

// Phrase returns the name of the option's value, "" if it takes none, and what help
// says about it.
func (o *Option) Phrase() (value, text string) {
	before, rest, _ := strings.Cut(o.Usage, "`")
	value, after, ok := strings.Cut(rest, "`")
	if !ok {
		return "", o.Usage
	}
	return value, before + value + after
}

// Brief returns what Phrase returns, without details but with the default.
func (o *Option) Brief() (value, text string) {
	value, text = o.Phrase()
	text, _, _ = strings.Cut(text, ";")
	if o.Default != "" {
		def, _, _ := strings.Cut(o.Default, ",")
		text += " (default: " + def + ")"
	}
	return value, text
}

// Words returns the words that the value may be, or nil if it is not one of a few.
func (o *Option) Words() []string {
	switch v := o.Value.(type) {
	case *bool:
		return []string{"true", "false"}
	case *Choice:
		return v.among
	}
	return nil
}

// check returns an error if the option cannot have a value. It sets a copy, so that the
// option itself does not change.
func (o *Option) check(source, text string) error {
	value := o.value()
	copied := reflect.New(reflect.TypeOf(value).Elem())
	copied.Elem().Set(reflect.ValueOf(value).Elem())
	if err := copied.Interface().(cli.Generic).Set(text); err != nil {
		err := locks.Usagef("%s: %v", source, err)
		return hintInstead(err, o.Name+"="+text)
	}
	return nil
}

// setDefault sets the option's value to its default.
func (o *Option) setDefault() {
	if o.Default != "" {
		_ = o.value().Set(o.Default)
	}
}

// value returns where the option's value goes, as a value of the library.
func (o *Option) value() cli.Generic {
	switch v := o.Value.(type) {
	case *string:
		return (*textValue)(v)
	case *bool:
		return (*switchValue)(v)
	}
	return o.Value.(cli.Generic)
}

// A Command is a subcommand.
type Command struct {
	Name  string
	Usage string // a phrase
	Args  string // what follows its options, as help shows it; "": it takes no arguments

	// Early is how many of its arguments may precede options, as with rm(1).
	Early int
	// Job says that it reads the whole config file, including the command of a job. Other
	// subcommands read only where the lock is, and the options of the lease that they have.
	Job bool

	// Define returns its options, and the function that does its work once their values
	// are set. It is called once, and only if the options are needed, to start quickly.
	Define func() ([]Option, func(*Invocation) error)

	options []Option
	do      func(*Invocation) error
}

// Options returns the command's options.
func (c *Command) Options() []Option {
	if c.options == nil {
		c.options, c.do = c.Define()
		c.options = append(c.options, Option{Name: HelpName, Short: "h", Common: true, Group: "Help", Value: new(bool), From: Arguments, Usage: "show this help"})
		for i := range c.options {
			c.options[i].setDefault()
		}
	}
	return c.options
}

// Shown returns the options that help shows.
func (c *Command) Shown() []Option {
	return slices.DeleteFunc(slices.Clone(c.Options()), func(o Option) bool { return o.Hidden })
}

// option returns the option with a long or short name, or nil if there is none.
func (c *Command) option(name string) *Option {
	all := c.Options()
	for i := range all {
		if o := &all[i]; o.Name == name || o.Short == name && name != "" {
			return o
		}
	}
	return nil
}

// Do sets the values of the options, through the library, and does the command's work.
func (c *Command) Do(r *Invocation) error {
	set := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	for _, s := range r.Settings {
		if s.Rank == Default {
			continue
		}
		err := (&cli.GenericFlag{Name: s.Name, Value: s.value()}).Apply(set)
		if err == nil {
			err = set.Set(s.Name, s.Text)
		}
		if err != nil { // although it was checked
			return locks.Usagef("%s: %s", s.Source, locks.RedactText(err.Error()))
		}
		if v, ok := s.Value.(interface{ given() }); ok {
			v.given()
		}
	}
	if c.Args == "" && len(r.Args) > 0 {
		return locks.Usagef("leaderrun %s takes no argument, but was given %s", c.Name, output.Quote(r.Args[0]))
	}
	return c.do(r)
}

// Find returns the command with a name, or nil if there is none.
func Find(commands []*Command, name string) *Command {
	for _, c := range commands {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Names returns the names of commands.
func Names(commands []*Command) (names []string) {
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return names
}
