package run

import (
	"slices"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/health"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// checkHealth refuses what cannot be meant. How to check, but not what, is an error only
// on the command line: elsewhere it is a default.
func (s *session) checkHealth(r *options.Request) error {
	how := slices.ContainsFunc([]string{"health-interval", "health-timeout", "health-retries", "health-start-period"}, r.Given)
	switch {
	case how && s.HealthCmd+s.HealthHTTP+s.HealthTCP == "":
		return output.WithHint(locks.Usagef("--health-interval and the like need a health check"), "add --health-cmd, --health-http or --health-tcp")
	case s.HealthInterval.D <= 0:
		return locks.Usagef("--health-interval %v is out of range: more than 0", s.HealthInterval.D)
	case s.HealthTimeout.D <= 0:
		return locks.Usagef("--health-timeout %v is out of range: more than 0", s.HealthTimeout.D)
	case s.HealthRetries.N == 0:
		return locks.Usagef("--health-retries 0 is out of range: 1 or more")
	}
	return nil
}

// commandsOf finds the commands that the options name besides the job.
func (s *session) commandsOf() (runner.Hooks, *health.Config, error) {
	hooks := runner.Hooks{Timeout: s.HookTimeout.D}
	for _, h := range []struct {
		option, text string
		command      *proc.Command
	}{
		{"--on-standby", s.OnStandby, &hooks.Standby},
		{"--on-elected", s.OnElected, &hooks.Elected},
		{"--on-resign", s.OnResign, &hooks.Resign},
		{"--on-lost", s.OnLost, &hooks.Lost},
	} {
		if h.text == "" {
			continue
		}
		var err error
		if *h.command, err = options.CommandOf(h.option, h.text); err != nil {
			return hooks, nil, err
		}
	}
	health, err := s.health()
	return hooks, health, err
}

func (s *session) health() (*health.Config, error) {
	health := &health.Config{
		Interval:    s.HealthInterval.D,
		Timeout:     s.HealthTimeout.D,
		Retries:     s.HealthRetries.N,
		StartPeriod: s.HealthStartPeriod.D,
	}
	var err error
	switch {
	case s.HealthCmd != "":
		health.Command, err = options.CommandOf("--health-cmd", s.HealthCmd)
	case s.HealthHTTP != "":
		health.Command, err = s.probe("http", s.HealthHTTP)
	case s.HealthTCP != "":
		health.Command, err = s.probe("tcp", s.HealthTCP)
	default:
		return nil, nil
	}
	return health, err
}
