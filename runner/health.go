package runner

import (
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/health"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// checkHealth starts the health checks of a job that was just started.
func (t *term) checkHealth(job proc.Job) *health.Watch {
	checks := *t.r.Health
	checks.Command.Env, checks.Command.NoInput = with(hookEnv(t.env, "health", "", t.r.Holder), checks.Command.Env...), true
	return health.Start(checks, t.r.Clock, job, func(err error, inARow int) {
		t.report.log.Info("a health check failed", "err", err, "failures", inARow)
		t.report.emit(event.Event{Kind: event.Unhealthy, Reason: err.Error()})
	})
}
