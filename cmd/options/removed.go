package options

import (
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// removed maps options that leaderrun had, or a value of one, to what to use instead.
var removed = map[string]string{
	"exec":                "leaderrun watch -o json | while read -r change; do …; done",
	"output=live":         "on a terminal, leaderrun watch is the live screen: omit -o",
	"health-cmd":          "use --health CMD",
	"health-http":         "use --health URL",
	"health-tcp":          "use --health tcp://HOST:PORT",
	"health-timeout":      "the interval is the limit: use --health-interval",
	"notify-job":          "leaderrun sends READY=1 when the job has started: omit the option",
	"on-renew-error":      "renewals are retried for as long as the lease allows; use a shorter --ttl to stop sooner",
	"require-containment": "use --containment TIER: the job is not started with less",
	"trace-renewals":      "use -vv",
}

// hintInstead adds to an error about an unknown option or key what to use instead, if
// leaderrun had it once.
func hintInstead(err *locks.UsageError, name string) error {
	instead, had := removed[name]
	if !had {
		return err
	}
	err.Near = "" // what resembles it is something else
	return output.WithHint(err, instead)
}

// insteadOf returns what to use instead of a variable, without LEADERRUN_, or "".
func insteadOf(variable string) string {
	return removed[strings.ToLower(strings.ReplaceAll(variable, "_", "-"))]
}
