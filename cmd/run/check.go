package run

import (
	"slices"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// check returns an error if options have values that make no sense, alone or together.
// Contradictions that the precedence of their sources decides are in cmd/options.
func (s *session) check(r *options.Request) error {
	if err := locks.CheckName(s.Lock); err != nil {
		return err
	}
	if s.Wait.Given && s.Wait.D == 0 { // as in flock(1)
		s.Nonblock = true
	}
	if err := s.CheckConnectTimeout(); err != nil {
		return err
	}
	// How to check, but not what, is an error only on the command line: elsewhere it is a
	// default.
	how := slices.ContainsFunc([]string{"health-interval", "health-timeout", "health-retries", "health-start-period"}, r.Given)
	switch {
	case s.OncePer != "" && s.Slots.Given: // an error whatever their sources: without --slots it is another lock
		return locks.Usagef("--once-per and --slots contradict each other: runs are recorded per lock, not per slot")
	case s.OncePer == "" && s.OncePerAttempt:
		return output.WithHint(locks.Usagef("--once-per-attempt needs --once-per"), "add --once-per WINDOW")
	case s.RestartDelay.D <= 0:
		return locks.Usagef("--restart-delay %v is out of range: more than 0", s.RestartDelay.D)
	case s.RestartDelay.D > s.RestartMaxDelay.D:
		return locks.Usagef("--restart-delay %v is longer than --restart-max-delay %v", s.RestartDelay.D, s.RestartMaxDelay.D)
	case s.GiveUpAfter.N > 0 && s.Restart.Value == "no":
		return output.WithHint(locks.Usagef("--give-up-after needs --restart"), "add --restart on-failure")
	case s.HookTimeout.D <= 0:
		return locks.Usagef("--hook-timeout %v is out of range: more than 0", s.HookTimeout.D)
	case how && s.HealthCmd+s.HealthHTTP+s.HealthTCP == "":
		return output.WithHint(locks.Usagef("--health-interval and the like need a health check"), "add --health-cmd, --health-http or --health-tcp")
	case s.HealthInterval.D <= 0:
		return locks.Usagef("--health-interval %v is out of range: more than 0", s.HealthInterval.D)
	case s.HealthTimeout.D <= 0:
		return locks.Usagef("--health-timeout %v is out of range: more than 0", s.HealthTimeout.D)
	case s.HealthRetries.N == 0:
		return locks.Usagef("--health-retries 0 is out of range: 1 or more")
	}
	return s.Timing().CheckTTL()
}
