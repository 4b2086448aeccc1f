package run

import (
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/runner/health"
)

// health returns the health check of the job, or nil if there is none.
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
