package options

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// A Rank says where a value comes from. A higher rank has precedence.
type Rank int

const (
	Default  Rank = iota
	Top           // of the config file
	Job           // in it
	Variable      // of the environment
	Flag          // on the command line
)

// A Setting is an option with the value that applies.
type Setting struct {
	*Option
	Text   string // the value; at Default, what help says
	Rank   Rank
	Source string // for people: "flag", "LEADERRUN_TTL", "/etc/leaderrun/config.yaml:3", "default"
	line   int    // in the file
}

// An Invocation is what a user asks a subcommand to do.
type Invocation struct {
	Settings []*Setting // one for each option, in the order of help
	Args     []string   // the command to run, or other arguments
	ArgsFrom string     // where they come from
	Line     *Line
	Hidden   string // a default config file that was ignored, because its directory may not be entered; or ""
	config   *config
}

// Resolve decides which values apply: for each option the one of the highest rank. Of two
// options that contradict each other, the one of the higher rank applies.
func Resolve(l *Line) (*Invocation, error) {
	config, job, err := l.openConfig()
	if err != nil {
		return nil, err
	}
	r := &Invocation{Args: append(l.Words, l.Rest...), ArgsFrom: "command line", Line: l, Hidden: config.hidden, config: config}
	all := l.Command.Options()
	for i := range all {
		s, err := l.decide(&all[i], config, job)
		if err != nil {
			return nil, err
		}
		r.Settings = append(r.Settings, s)
	}
	if err := r.nameLock(job); err != nil {
		return nil, err
	}
	if err := r.contradict(); err != nil {
		return nil, err
	}
	return r, r.findCommand(job)
}

// places are the options that every subcommand takes from the file, even if it does not
// take all: they say where a lock is, and how long its lease is.
var places = []string{"backend", "lock", "connect-timeout", "ttl", "kill-after"}

// decide finds the value of an option. Empty values from the file or a variable are
// ignored.
func (l *Line) decide(o *Option, c *config, job *section) (*Setting, error) {
	s := &Setting{Option: o}
	s.reset()
	for i, in := range []*section{&c.top, job} {
		e, ok := in.options[o.Name]
		if !ok || !l.Command.Job && !slices.Contains(places, o.Name) {
			continue
		}
		text, err := c.value(o, e)
		if err != nil {
			return nil, err
		}
		if text != "" {
			*s = Setting{o, text, Top + Rank(i), fmt.Sprintf("%s:%d", c.file, e.line), e.line}
		}
	}
	if text := os.Getenv(o.Variable()); text != "" {
		*s = Setting{Option: o, Text: text, Rank: Variable, Source: o.Variable()}
	}
	if l.Count(o.Name) > 0 {
		*s = Setting{Option: o, Text: l.Text(o.Name), Rank: Flag, Source: "flag"}
	}
	return s, nil
}

// reset makes a setting the default.
func (s *Setting) reset() {
	*s = Setting{Option: s.Option, Text: s.Default, Source: "default"}
	switch {
	case s.Counts():
		s.Text = "0"
	case !s.TakesValue():
		s.Text = "false"
	}
}

// Setting returns the setting of an option, or nil if the subcommand does not have it.
func (r *Invocation) Setting(name string) *Setting {
	for _, s := range r.Settings {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Given reports whether the value of an option comes from the command line.
func (r *Invocation) Given(name string) bool {
	s := r.Setting(name)
	return s != nil && s.Rank == Flag
}

// openConfig reads the config file, if the subcommand has the option for one, and returns
// it with the section of the job. Without --job the section is empty.
func (l *Line) openConfig() (*config, *section, error) {
	if l.Command.option("config") == nil {
		return new(config), new(section), nil
	}
	for _, name := range []string{"config", "job"} {
		if l.Count(name) > 0 && l.Text(name) == "" {
			return nil, nil, locks.Usagef("option --%s has an empty value", name)
		}
	}
	c, err := openConfig(l.Text("config"))
	if err != nil {
		return nil, nil, err
	}
	job, err := c.job(l.Text("job"))
	return c, job, err
}

// job returns the section of a job, which is empty if there is no name.
func (c *config) job(name string) (*section, error) {
	if name == "" {
		return new(section), nil
	}
	if job := c.jobs[name]; job != nil {
		return job, nil
	}
	if c.file == "" {
		err := locks.Usagef("there is no job %s: there is no config file", output.Quote(name))
		if c.hidden != "" {
			err.What += ", but perhaps " + c.hidden + ", whose directory you may not enter"
		}
		return nil, output.WithHint(err, "create "+strings.Join(defaultConfigs(), " or ")+", or name a file with --config")
	}
	err := locks.Unknown("job", name, slices.Sorted(maps.Keys(c.jobs)))
	err.What += " in " + c.file
	return nil, err
}

// value expands and checks an option's value from the file.
func (c *config) value(o *Option, e rawValue) (string, error) {
	value, err := expand(e.text)
	if err != nil {
		return "", c.at(e.line, "%s: %v", o.Name, err)
	}
	switch {
	case value == "":
	case o.Name == "lock":
		err = locks.CheckName(value)
	case o.Name == "backend":
		_, err = locks.Parse(value)
	default:
		err = o.check(o.Name, value)
	}
	if err != nil {
		return "", c.at(e.line, "%v", err)
	}
	return value, nil
}

// nameLock names the lock after the job if it has no other name.
func (r *Invocation) nameLock(job *section) error {
	lock, name := r.Setting("lock"), r.Setting("job")
	if lock == nil || name == nil || name.Text == "" || lock.Rank > Default {
		return nil
	}
	if err := locks.CheckName(name.Text); err != nil {
		return r.config.at(job.line, "job %s: its name cannot be used for its lock: %v", output.Quote(name.Text), err)
	}
	lock.Text, lock.Rank, lock.Source = name.Text, Job, "the job's name"
	return nil
}

// findCommand decides which command to run: that of the command line, a variable or the
// job, in this order.
func (r *Invocation) findCommand(job *section) error {
	line, words := r.Setting(commandKey), min(r.Line.Command.Early, len(r.Args))
	if !r.Line.Command.Job {
		return nil
	}
	if len(r.Args) > words && line.Rank < Flag {
		line.reset()
	}
	if len(r.Args) > words || line.Rank > Default || job.command == nil {
		return nil
	}
	r.ArgsFrom = fmt.Sprintf("%s:%d", r.config.file, job.command.line)
	for _, word := range job.command.words {
		word, err := expand(word)
		if err != nil {
			return r.config.at(job.command.line, "%s: %v", commandKey, err)
		}
		r.Args = append(r.Args, word)
	}
	return nil
}

// Backend returns the backend that a run with the options of a line would use.
func (l *Line) Backend() (string, error) {
	run := &Command{Define: func() ([]Option, func(*Invocation) error) {
		return NewValues().Pick("backend", "config", "job"), nil
	}}
	r, err := Resolve(&Line{Command: run, Given: l.Given})
	if err != nil {
		return "", err
	}
	return r.Setting("backend").Text, nil
}

// Jobs returns the names of the jobs in the config file that a line refers to.
func (l *Line) Jobs() []string {
	c, err := openConfig(l.Text("config"))
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(c.jobs))
}
