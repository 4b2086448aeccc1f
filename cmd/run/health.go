package run

import (
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/runner/health"
)

// health returns the health check of the job, or nil if there is none.
func (s *session) health() (*health.Config, error) {
	health := &health.Config{
		Interval:    s.opt.HealthInterval.D,
		Retries:     s.opt.HealthRetries.N,
		StartPeriod: s.opt.HealthStartPeriod.D,
	}
	var err error
	switch {
	case s.opt.HealthCmd != "":
		health.Command, err = options.CommandOf("--health-cmd", s.opt.HealthCmd)
	case s.opt.HealthHTTP != "":
		health.Command, err = s.probe("http", s.opt.HealthHTTP)
	case s.opt.HealthTCP != "":
		health.Command, err = s.probe("tcp", s.opt.HealthTCP)
	default:
		return nil, nil
	}
	return health, err
}
