package options

import (
	"cmp"
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

// foreign does so for options of flock(1) and others. A variable with such a name is not one of
// leaderrun's: it may be anybody's.
var foreign = map[string]string{
	"-F":        "leaderrun stays beside its job: omit the option",
	"-e":        exclusive,
	"-o":        "a job does not inherit the lock: omit the option",
	"-u":        "leaderrun release --lock NAME",
	"-x":        exclusive,
	"close":     "a job does not inherit the lock: omit the option",
	"exclusive": exclusive,
	"json":      "status, watch, doctor and others have -o json",
	"no-fork":   "leaderrun stays beside its job: omit the option",
	"shared":    "all locks are exclusive; with --slots N, up to N runs hold one",
	"timeout":   "use --wait DURATION",
	"unlock":    "leaderrun release --lock NAME",
}

const exclusive = "all locks are exclusive: omit the option"

// hintInstead adds to an error about an unknown option what to use instead, if leaderrun had it
// once, or others have it.
func hintInstead(err *locks.UsageError, name string) error {
	instead := cmp.Or(removed[name], foreign[name])
	if instead == "" {
		return err
	}
	err.Near = "" // what resembles it is something else
	return output.WithHint(err, instead)
}

// insteadOf returns what to use instead of a variable, without LEADERRUN_, or "".
func insteadOf(variable string) string {
	return removed[strings.ToLower(strings.ReplaceAll(variable, "_", "-"))]
}
