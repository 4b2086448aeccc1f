package run

import (
	"strings"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// In nested use the enclosing leaderrun runs the command, and does not know our options. Those
// about waiting for the lock and keeping it concern nobody then: we neither wait nor keep it.
// Others would be missed. If one of them decides when the command runs, with what around it, or
// how it ends, and is on the command line, the command is not run. A variable or the config file
// may be meant for the enclosing leaderrun, which has read them too, so they only cause a
// warning. So do options that only report.

// ineffective returns the options that an enclosing leaderrun would have to know: those that
// refuse nested use, and those to warn of. The text of the latter says where they come from.
func (s *session) ineffective(r *options.Invocation) (refuse, warn []string) {
	o := s.opt
	for _, option := range []struct {
		name    string
		set     bool
		reports bool
	}{
		{name: "once-per", set: o.OncePer != ""},
		{name: "max-runtime", set: o.MaxRuntime.D > 0},
		{name: "rejoin", set: o.Rejoin},
		{name: "restart", set: o.Restart.Value != "no"},
		{name: "health", set: o.Health != ""},
		{name: "on-elected", set: o.OnElected != ""},
		{name: "on-resign", set: o.OnResign != ""},
		{name: "on-lost", set: o.OnLost != ""},
		{name: "containment", set: o.Containment.Value != "auto"},
		{name: "wait-children", set: o.WaitChildren},
		{name: "min-hold", set: o.MinHold.D > 0},
		{name: "no-resign", set: o.NoResign},
		{name: "events", set: o.Events != "", reports: true},
		{name: "metrics-listen", set: o.MetricsListen != "", reports: true},
		{name: "metrics-file", set: o.MetricsFile != "", reports: true},
	} {
		given := r.Given(option.name)
		switch {
		case !option.set || option.reports && !given:
		case given && !option.reports:
			refuse = append(refuse, "--"+option.name)
		case given:
			warn = append(warn, "--"+option.name)
		default:
			warn = append(warn, "--"+option.name+" ("+r.Setting(option.name).Source+")")
		}
	}
	return refuse, warn
}

// admit returns an error if options refuse to run a command under the lease of another
// leaderrun, and warns of others.
func (n *nest) admit() error {
	if len(n.refuse) > 0 {
		return output.WithHint(locks.Usagef("inside the job of the same lock, %s would have no effect", strings.Join(n.refuse, ", ")),
			"give such options to the leaderrun around this one, which runs the command")
	}
	if len(n.warn) > 0 {
		n.log.Warn("inside the job of the same lock, an option has no effect", "option", strings.Join(n.warn, ", "))
	}
	n.log.Info("the leaderrun around this one has the lock")
	return nil
}
