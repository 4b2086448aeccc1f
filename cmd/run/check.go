package run

import (
	"slices"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// check returns an error if options make no sense together. The table of options limits
// single values, and the precedence of sources decides other contradictions, in cmd/options.
func (s *session) check(r *options.Invocation) error {
	if err := locks.CheckName(s.opt.Lock); err != nil {
		return err
	}
	if s.opt.Wait.Given && s.opt.Wait.D == 0 { // as in flock(1)
		s.opt.Nonblock = true
	}
	// How to check, but not what, is an error only on the command line: elsewhere it is a
	// default.
	how := slices.ContainsFunc([]string{"health-interval", "health-retries", "health-start-period"}, r.Given)
	switch {
	case s.opt.OncePer != "" && s.opt.Slots.Given: // an error whatever their sources: without --slots it is another lock
		return locks.Usagef("--once-per and --slots contradict each other: runs are recorded per lock, not per slot")
	case s.opt.Priority.Given && s.opt.Slots.Given: // of the waiters, one waits for the slots, and no other can pass it
		return locks.Usagef("--priority and --slots contradict each other: slots are given in the order in which runs came")
	case s.opt.OncePer == "" && s.opt.OncePerAttempt:
		return output.WithHint(locks.Usagef("--once-per-attempt needs --once-per"), "add --once-per WINDOW")
	case s.opt.RestartDelay.D > s.opt.RestartMaxDelay.D:
		return locks.Usagef("--restart-delay %v is longer than --restart-max-delay %v", s.opt.RestartDelay.D, s.opt.RestartMaxDelay.D)
	case s.opt.GiveUpAfter.N > 0 && s.opt.Restart.Value == "no":
		return output.WithHint(locks.Usagef("--give-up-after needs --restart"), "add --restart on-failure")
	case len(s.opt.Advertise) > locks.MaxAdvertise || locks.Printable(s.opt.Advertise) != s.opt.Advertise:
		return locks.Usagef("--advertise %s: at most %d bytes that can be printed", output.Quote(s.opt.Advertise), locks.MaxAdvertise)
	case how && s.opt.Health == "":
		return output.WithHint(locks.Usagef("--health-interval and the like need a health check"), "add --health WHAT")
	}
	return nil
}
