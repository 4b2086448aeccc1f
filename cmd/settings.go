package cmd

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// Where a setting is from. The higher goes before the lower.
type rank int

const (
	fromDefault rank = iota
	fromTop          // of the config file
	fromJob          // in it
	fromVariable
	fromFlag
)

// A setting is one option of a run, with what it would be.
type setting struct {
	flag   cli.Flag
	value  string
	rank   rank
	source string // for people: "flag", "LEADERRUN_TTL", "/etc/leaderrun/config.yaml:3", "default"
	line   int    // in the file
}

// settings are all that a run is asked for.
type settings struct {
	config  *config
	options []*setting // in the order of help
	command []string   // what to run; nil: nothing, or what -c says
	source  string     // of command
}

// configFlags are the options that say which config file, and what of it.
func configFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "config", Category: "Config file", EnvVars: []string{"LEADERRUN_CONFIG"},
			Usage: "read options from `FILE` (default: ~/.config/leaderrun/config.yaml, or /etc/leaderrun/config.yaml)"},
		&cli.StringFlag{Name: "job", Category: "Config file", EnvVars: []string{"LEADERRUN_JOB"},
			Usage: "run the job `NAME` of the config file, with its options"},
	}
}

// configure adds what the config file says to the arguments, as route spells
// them, where neither they nor a variable say otherwise. A subcommand other than
// run takes what says where a lock is, and of its lease what it has an option for,
// if it has the option --config.
func (p *program) configure(routed []string) ([]string, error) {
	c := find(p.commands(), routed[1])
	if lookup(c, "config") == nil || c.Name == "config" {
		return routed, nil
	}
	s, err := p.settings(routed)
	if err != nil || s.config.file == "" {
		return routed, err
	}
	out := slices.Clone(routed[:2])
	for _, o := range s.options {
		name := o.flag.Names()[0]
		wanted := c.Name == "run" || slices.Contains([]string{"backend", "lock", "connect-timeout", "ttl", "kill-after"}, name) && lookup(c, name) != nil
		if wanted && (o.rank == fromTop || o.rank == fromJob) {
			out = append(out, "--"+name+"="+o.value)
		}
	}
	dashes := slices.Index(routed, "--")
	out = append(out, routed[2:dashes+1]...)
	if c.Name != "run" {
		return append(out, routed[dashes+1:]...), nil
	}
	return append(out, s.command...), nil
}

// settings finds out what a run is asked for, by whom.
func (p *program) settings(routed []string) (*settings, error) {
	dashes := slices.Index(routed, "--")
	given := map[string]string{}
	for _, arg := range routed[2:dashes] {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		given[name] = value
	}
	s := new(settings)
	name, job, err := s.open(given)
	if err != nil || s.config.file == "" && routed[1] != "config" { // a run without a file is not to pay for them
		return s, err
	}
	for _, f := range newOptions().flags() {
		if name := f.Names()[0]; name == helpName || name == versionName {
			continue
		}
		o, err := s.find(f, given, job)
		if err != nil {
			return nil, err
		}
		s.options = append(s.options, o)
	}
	if err := s.nameLock(name, job); err != nil {
		return nil, err
	}
	if err := s.contradict(); err != nil {
		return nil, err
	}
	return s, s.findCommand(routed[dashes+1:], job)
}

// open reads the config file and finds the job that is asked for.
func (s *settings) open(given map[string]string) (name string, job *section, err error) {
	file, err := pick(given, "config")
	if err != nil {
		return "", nil, err
	}
	if name, err = pick(given, "job"); err != nil {
		return "", nil, err
	}
	if s.config, err = openConfig(file); err != nil {
		return "", nil, err
	}
	job, err = s.job(name)
	return name, job, err
}

// pick returns the value of an option that cannot be in a file.
func pick(given map[string]string, name string) (string, error) {
	value, ok := given[name]
	switch {
	case !ok:
		return os.Getenv(variableOf(name)), nil
	case value == "":
		return "", &locks.UsageError{What: "option --" + name + " has an empty value"}
	}
	return value, nil
}

// variableOf is the name of an option's variable.
func variableOf(name string) string {
	return "LEADERRUN_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// job returns the section of a job, an empty one if none is asked for.
func (s *settings) job(name string) (*section, error) {
	if name == "" {
		return new(section), nil
	}
	if job := s.config.jobs[name]; job != nil {
		return job, nil
	}
	if s.config.file == "" {
		return nil, output.WithHint(&locks.UsageError{What: "there is no job " + output.Quote(name) + ", as there is no config file"},
			"it would be "+strings.Join(defaultConfigs(), " or ")+", or what --config says")
	}
	err := locks.Unknown("job", name, slices.Sorted(maps.Keys(s.config.jobs)))
	err.What += " in " + s.config.file
	return nil, err
}

// find settles one option by itself.
func (s *settings) find(f cli.Flag, given map[string]string, job *section) (*setting, error) {
	name := f.Names()[0]
	o := &setting{flag: f, value: f.(cli.DocGenerationFlag).GetDefaultText(), source: "default"}
	for _, in := range []struct {
		rank
		options map[string]entry
	}{{fromTop, s.config.top.options}, {fromJob, job.options}} {
		e, ok := in.options[name]
		if !ok {
			continue
		}
		value, err := s.config.value(f, e)
		switch {
		case err != nil:
			return nil, err
		case value != "": // an empty one is none, as an empty variable
			*o = setting{f, value, in.rank, fmt.Sprintf("%s:%d", s.config.file, e.line), e.line}
		}
	}
	if value := os.Getenv(variableOf(name)); value != "" {
		*o = setting{flag: f, value: value, rank: fromVariable, source: variableOf(name)}
	}
	if value, ok := given[name]; ok {
		*o = setting{flag: f, value: value, rank: fromFlag, source: "flag"}
	}
	return o, nil
}

// value expands and checks what the file has for an option.
func (c *config) value(f cli.Flag, e entry) (string, error) {
	name := f.Names()[0]
	value, err := expand(e.text)
	if err == nil && value != "" {
		for _, fresh := range newOptions().flags() { // a check sets what it checks
			if fresh.Names()[0] == name {
				err = checkFileValue(fresh, name, value)
			}
		}
	}
	var usage *locks.UsageError
	switch {
	case errors.As(err, &usage):
		return "", c.at(e.line, "%s", err)
	case err != nil:
		return "", c.at(e.line, "%s: %v", name, err)
	}
	return value, nil
}

func checkFileValue(f cli.Flag, name, value string) error {
	switch name {
	case "lock":
		return locks.CheckName(value)
	case "backend":
		_, err := locks.Parse(value)
		return err
	}
	return checkValue(f, name, value)
}

func (s *settings) option(name string) *setting {
	i := slices.IndexFunc(s.options, func(o *setting) bool { return o.flag.Names()[0] == name })
	return s.options[i]
}
