package run

import (
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/runner/health"
)

// health returns the health check of the job, or nil if there is none.
func (s *session) health() (*health.Config, error) {
	if s.opt.Health == "" {
		return nil, nil
	}
	health := &health.Config{
		Interval:    s.opt.HealthInterval.D,
		Retries:     s.opt.HealthRetries.N,
		StartPeriod: s.opt.HealthStartPeriod.D,
	}
	var err error
	if isTarget(s.opt.Health) {
		health.Command, err = s.probe(s.opt.Health)
	} else {
		health.Command, err = options.CommandOf("--health", s.opt.Health)
	}
	return health, err
}
