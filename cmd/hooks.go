package cmd

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// hookOptions are commands, each as one text.
type hookOptions struct {
	standby, elected, resign, lost string
	timeout                        seconds
}

// healthOptions are named as Docker's are.
type healthOptions struct {
	cmd, http, tcp    string
	interval, timeout seconds
	startPeriod       seconds
	retries           count
	stray             bool // how to check is on the command line, but not what; elsewhere that is a default
}

func newHealthOptions() healthOptions {
	return healthOptions{
		interval: seconds{d: 30 * time.Second},
		timeout:  seconds{d: 30 * time.Second},
		retries:  3,
	}
}

func (o *options) hookFlags() []cli.Flag {
	h := &o.hooks
	return []cli.Flag{
		&cli.StringFlag{Name: "on-standby", Category: "Hooks", EnvVars: []string{"LEADERRUN_ON_STANDBY"},
			Destination: &h.standby,
			Usage:       "run `CMD` when we begin to wait for the lock"},
		&cli.StringFlag{Name: "on-elected", Category: "Hooks", EnvVars: []string{"LEADERRUN_ON_ELECTED"},
			Destination: &h.elected,
			Usage:       "run `CMD` under the lease before the job; if it fails, give up the lock"},
		&cli.StringFlag{Name: "on-resign", Category: "Hooks", EnvVars: []string{"LEADERRUN_ON_RESIGN"},
			Destination: &h.resign,
			Usage:       "run `CMD` under the lease when nothing of the job is left"},
		&cli.StringFlag{Name: "on-lost", Category: "Hooks", EnvVars: []string{"LEADERRUN_ON_LOST"},
			Destination: &h.lost,
			Usage:       "run `CMD` after the lock was lost and the job killed"},
		&cli.GenericFlag{Name: "hook-timeout", Category: "Hooks", EnvVars: []string{"LEADERRUN_HOOK_TIMEOUT"},
			Value: &h.timeout, DefaultText: "30s",
			Usage: "stop a hook that runs for longer than `DURATION`"},
	}
}

func (o *options) healthFlags() []cli.Flag {
	h := &o.health
	return []cli.Flag{
		&cli.StringFlag{Name: "health-cmd", Category: "Health of the job", EnvVars: []string{"LEADERRUN_HEALTH_CMD"},
			Destination: &h.cmd,
			Usage:       "give up the lock when `CMD` keeps failing"},
		&cli.StringFlag{Name: "health-http", Category: "Health of the job", EnvVars: []string{"LEADERRUN_HEALTH_HTTP"},
			Destination: &h.http,
			Usage:       "give up the lock when `URL` keeps answering anything but 2xx or 3xx"},
		&cli.StringFlag{Name: "health-tcp", Category: "Health of the job", EnvVars: []string{"LEADERRUN_HEALTH_TCP"},
			Destination: &h.tcp,
			Usage:       "give up the lock when `HOST:PORT` keeps refusing connections"},
		&cli.GenericFlag{Name: "health-interval", Category: "Health of the job", EnvVars: []string{"LEADERRUN_HEALTH_INTERVAL"},
			Value: &h.interval, DefaultText: "30s",
			Usage: "check every `DURATION`"},
		&cli.GenericFlag{Name: "health-timeout", Category: "Health of the job", EnvVars: []string{"LEADERRUN_HEALTH_TIMEOUT"},
			Value: &h.timeout, DefaultText: "30s",
			Usage: "a check that takes longer than `DURATION` has failed"},
		&cli.GenericFlag{Name: "health-retries", Category: "Health of the job", EnvVars: []string{"LEADERRUN_HEALTH_RETRIES"},
			Value: &h.retries, DefaultText: "3",
			Usage: "`N` failures in a row make it unhealthy"},
		&cli.GenericFlag{Name: "health-start-period", Category: "Health of the job", EnvVars: []string{"LEADERRUN_HEALTH_START_PERIOD"},
			Value: &h.startPeriod,
			Usage: "failures in the first `DURATION` of the job do not count until a check has succeeded"},
	}
}

// check refuses what cannot be meant.
func (h *healthOptions) check() error {
	var given []string
	for name, value := range map[string]string{"--health-cmd": h.cmd, "--health-http": h.http, "--health-tcp": h.tcp} {
		if value != "" {
			given = append(given, name)
		}
	}
	usage := func(format string, args ...any) error {
		return &locks.UsageError{What: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(given) > 1:
		return usage("there can be one of --health-cmd, --health-http and --health-tcp, not several")
	case len(given) == 0 && h.stray:
		return output.WithHint(usage("nothing says how the job's health is checked"), "add --health-cmd, --health-http or --health-tcp")
	case h.interval.d <= 0:
		return usage("--health-interval %v is out of range: more than 0", h.interval.d)
	case h.timeout.d <= 0:
		return usage("--health-timeout %v is out of range: more than 0", h.timeout.d)
	case h.retries == 0:
		return usage("--health-retries 0 is out of range: 1 or more")
	}
	return nil
}

// commandsOf finds the commands that the options name besides the job.
func (p *program) commandsOf(o *options) (runner.Hooks, *runner.Health, error) {
	hooks := runner.Hooks{Timeout: o.hooks.timeout.d}
	for _, h := range []struct {
		option, text string
		command      *proc.Command
	}{
		{"--on-standby", o.hooks.standby, &hooks.Standby},
		{"--on-elected", o.hooks.elected, &hooks.Elected},
		{"--on-resign", o.hooks.resign, &hooks.Resign},
		{"--on-lost", o.hooks.lost, &hooks.Lost},
	} {
		if h.text == "" {
			continue
		}
		var err error
		if *h.command, err = commandOf(h.option, h.text); err != nil {
			return hooks, nil, err
		}
	}
	health, err := p.healthOf(&o.health)
	return hooks, health, err
}

func (p *program) healthOf(h *healthOptions) (*runner.Health, error) {
	health := &runner.Health{
		Interval:    h.interval.d,
		Timeout:     h.timeout.d,
		Retries:     int(h.retries),
		StartPeriod: h.startPeriod.d,
	}
	var err error
	switch {
	case h.cmd != "":
		health.Command, err = commandOf("--health-cmd", h.cmd)
	case h.http != "":
		health.Command, err = p.probe("http", h.http)
	case h.tcp != "":
		health.Command, err = p.probe("tcp", h.tcp)
	default:
		return nil, nil
	}
	return health, err
}

// commandOf reads a command that an option gives as one text: words, with quotes
// and escapes as a shell has them, and nothing else of a shell.
func commandOf(option, text string) (proc.Command, error) {
	words, err := splitWords(text)
	if err != nil {
		return proc.Command{}, output.WithHint(&locks.UsageError{What: option + " " + output.Quote(text) + ": " + err.Error()},
			"for a shell's features: "+option+` "sh -c '…'"`)
	}
	if len(words) == 0 || words[0] == "" {
		return proc.Command{}, &locks.UsageError{What: option + " " + output.Quote(text) + " names no program"}
	}
	path, err := proc.Find(words[0])
	if err != nil {
		return proc.Command{}, fmt.Errorf("%s: %w", option, err)
	}
	return proc.Command{Path: path, Args: words}, nil
}
