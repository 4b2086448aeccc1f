package options

import (
	"math"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// The options that replace the command: they print help or the version.
const (
	HelpName    = "help"
	HelpAllName = "help-all"
	VersionName = "version"
)

// Groups are the headings under which help shows options, in this order.
var Groups = []string{"Which lock", "Waiting", "The job", "Lease and stopping", "As a cron job", "As a service", "Health of the job", "Hooks", "Config file", "Output", "Help"}

// Values has the values of a run's options.
type Values struct {
	Backend, Lock, ID string
	Slots             Number

	Nonblock       bool
	Wait           Duration
	Conflict       Number
	ConnectTimeout Duration

	ShellCommand           string
	ScrubEnv, WaitChildren bool
	Containment            Choice

	TTL, KillAfter Duration
	Takeover       Choice
	Signal         Signal

	OncePer                    string
	OncePerAttempt             bool
	Splay, MinHold, MaxRuntime Duration

	Rejoin, NoResign              bool
	Advertise                     string
	Restart                       Choice
	RestartDelay, RestartMaxDelay Duration
	GiveUpAfter, Priority         Number

	Health                            string
	HealthInterval, HealthStartPeriod Duration
	HealthRetries                     Number

	OnStandby, OnElected, OnResign, OnLost string // each a command
	HookTimeout                            Duration

	Config, Job string

	Verbose                    Level
	Quiet                      bool
	LogFormat                  Choice
	LogFile, Events            string
	MetricsListen, MetricsFile string
}

// NewValues returns the defaults of the table.
func NewValues() *Values {
	v := new(Values)
	for _, o := range v.Table() {
		o.setDefault()
	}
	return v
}

// Table returns the options of a run, in the order of help.
func (v *Values) Table() []Option {
	return slices.Concat(v.lockOptions(), v.cronOptions(), v.serviceOptions(), v.healthOptions(), v.hookOptions(), v.outputOptions())
}

func (v *Values) lockOptions() []Option {
	const which, waiting, job, losing = "Which lock", "Waiting", "The job", "Lease and stopping"
	return []Option{
		{Name: "backend", Common: true, Short: "b", Group: which, Value: &v.Backend, Default: "file",
			Usage: "keep the lock in `NAME|URL`, such as etcd or etcd://host:2379/prefix; see leaderrun backends"},
		{Name: "lock", Common: true, Short: "l", Group: which, Value: &v.Lock, Usage: "`NAME` of the lock (default: the base name of COMMAND); required if COMMAND is a shell, an interpreter or another wrapper"},
		{Name: "id", Group: which, Value: &v.ID, Usage: "`ID` shown to others as the holder (default: host/pid/random)"},
		{Name: "slots", Common: true, Group: which, Value: v.Slots.in("number", 1, locks.MaxSlot),
			Usage: "let up to `N` runs hold the lock, each in its own slot; use it in all runs of a lock, or in none (default: no slots)"},

		{Name: "nonblock", Common: true, Short: "n", Group: waiting, Value: &v.Nonblock, Usage: "give up at once if the lock is held; beside it, -w has no effect"},
		{Name: "wait", Common: true, Short: "w", Group: waiting, Value: &v.Wait, Usage: "wait at most `DURATION` for the lock (default: no limit); a bare number is seconds, and 2m30s, 1.5h and 1d have units"},
		{Name: "conflict-exit-code", Common: true, Short: "E", Group: waiting, Value: v.Conflict.in("exit status", 0, 255), Default: "75",
			Usage: "exit with `N` if the lock is held"},
		{Name: "connect-timeout", Group: waiting, Value: v.ConnectTimeout.Limit(1, time.Hour, "more than 0, at most 1h"), Default: "5s",
			Usage: "wait up to `DURATION` for the backend to respond"},
		{Name: "takeover", Group: waiting, Value: v.Takeover.Of("fast", "strict"), Default: "fast",
			Usage: "`HOW` to start after a holder that did not release the lock: fast, as soon as the backend grants it, or strict, after the full lease of that holder"},

		{Name: "command", Common: true, Short: "c", Group: job, Value: &v.ShellCommand, From: NotInFile, Usage: "run `LINE` with $SHELL -c; requires --lock"},
		{Name: "scrub-env", Group: job, Value: &v.ScrubEnv, Usage: "keep the backend's credentials out of the job's environment"},
		{Name: "containment", Group: job, Value: v.Containment.Of(append([]string{"auto"}, tiers()...)...), Default: "auto",
			Usage: "contain the job with `TIER`: pgroup, subreaper, pidns, cgroup, or auto, the best available except pidns; what is not available is an error"},
		{Name: "wait-children", Group: job, Value: &v.WaitChildren,
			Usage: "wait for processes that the command leaves behind, instead of ending them"},

		{Name: "ttl", Common: true, Group: losing, Value: &v.TTL, Default: "15s", Usage: "if this host dies, free the lock after `DURATION`; this is the length of the lease"},
		{Name: "signal", Common: true, Short: "s", Group: losing, Value: &v.Signal, Default: "TERM", Usage: "send `SIG` to ask the job to end; 0 sends KILL at once"},
		{Name: "kill-after", Common: true, Short: "k", Group: losing, Value: v.KillAfter.Limit(1, math.MaxInt64, "more than 0, which would mean never, as with timeout(1)"), Default: timing.KillAfter.String(),
			Usage: "send KILL `DURATION` after the signal; when the lease is about to end, after a third of the ttl if that is less"},
	}
}

func (v *Values) cronOptions() []Option {
	const group = "As a cron job"
	return []Option{
		{Name: "once-per", Common: true, Group: group, Value: &v.OncePer,
			Usage: "let the job succeed once per `WINDOW` (10m, day) in the fleet; also 1h, week or a cron expression; later runs do nothing and exit with 0 (or -E)"},
		{Name: "once-per-attempt", Group: group, Value: &v.OncePerAttempt, Usage: "with --once-per, do not run a failed job again in the same window"},
		{Name: "splay", Common: true, Group: group, Value: &v.Splay, Usage: "before trying to take the lock, wait up to `DURATION`; the delay is fixed per host and lock"},
		{Name: "min-hold", Group: group, Value: &v.MinHold,
			Usage: "hold the lock for at least `DURATION` from the job's start, so that hosts with slow clocks find it held"},
		{Name: "max-runtime", Common: true, Group: group, Value: &v.MaxRuntime, Usage: "stop a job that runs for longer than `DURATION`; the exit status is then 124"},
	}
}

func (v *Values) serviceOptions() []Option {
	const group = "As a service"
	return []Option{
		{Name: "rejoin", Common: true, Group: group, Value: &v.Rejoin, Usage: "wait for the lock again after it is lost or the job ends; if others may be waiting, after a pause in which they get their turn"},
		{Name: "restart", Common: true, Group: group, Value: v.Restart.Of("no", "on-failure", "always"), Default: "no",
			Usage: "restart the job: `WHEN` is no, on-failure or always; the lock is not released in between"},
		{Name: "restart-delay", Group: group, Value: v.RestartDelay.Positive(), Default: "1s",
			Usage: "wait `DURATION` before a restart; it doubles with each restart in a row"},
		{Name: "restart-max-delay", Group: group, Value: &v.RestartMaxDelay, Default: "1m",
			Usage: "wait at most `DURATION` before a restart; a job that runs this long is healthy, and resets the delay and the count of --give-up-after"},
		{Name: "give-up-after", Group: group, Value: v.GiveUpAfter.in("number", 0, 1_000_000),
			Usage: "after `N` failures in a row, give up the lock so that another host can try (default: never)"},
		{Name: "no-resign", Group: group, Value: &v.NoResign, Usage: "refuse requests of leaderrun resign"},
		{Name: "advertise", Group: group, Value: &v.Advertise, Usage: "publish `TEXT`, such as an address, for whoever asks who holds the lock: status, watch and /leader show it"},
		{Name: "priority", Group: group, Value: v.Priority.in("number", -1000, 1000),
			Usage: "waiters with a greater `N` get the lock first (" + known.Queues() + "); set it in all runs of a lock, or in none; not with --slots (default: none)"},
	}
}

// The options about how to check health have the names that Docker uses.
func (v *Values) healthOptions() []Option {
	const group = "Health of the job"
	return []Option{
		{Name: "health", Common: true, Group: group, Value: &v.Health,
			Usage: "give up the lock when `WHAT` keeps failing; an http:// or https:// URL must answer with 2xx or 3xx, tcp://HOST:PORT must accept connections, and anything else is a command"},
		{Name: "health-interval", Group: group, Value: v.HealthInterval.Positive(), Default: "30s", Usage: "check every `DURATION`; a check that takes longer fails"},
		{Name: "health-retries", Group: group, Value: v.HealthRetries.in("number", 1, 1_000_000), Default: "3", Usage: "the job is unhealthy after `N` failures in a row"},
		{Name: "health-start-period", Group: group, Value: &v.HealthStartPeriod,
			Usage: "ignore failures in the job's first `DURATION`, until a check succeeds"},
	}
}

func (v *Values) hookOptions() []Option {
	const group = "Hooks"
	return []Option{
		{Name: "on-standby", Group: group, Value: &v.OnStandby, Usage: "run `CMD` when the wait for the lock begins"},
		{Name: "on-elected", Common: true, Group: group, Value: &v.OnElected, Usage: "run `CMD` under the lease before the job; if it fails, give up the lock"},
		{Name: "on-resign", Group: group, Value: &v.OnResign, Usage: "run `CMD` under the lease when the whole job has ended"},
		{Name: "on-lost", Group: group, Value: &v.OnLost, Usage: "run `CMD` after the lock was lost and the job killed"},
		{Name: "hook-timeout", Group: group, Value: v.HookTimeout.Positive(), Default: "30s", Usage: "stop a hook that runs for longer than `DURATION`"},
	}
}

func (v *Values) outputOptions() []Option {
	const file, group = "Config file", "Output"
	return []Option{
		{Name: "verbose", Common: true, Short: "v", Group: group, Value: &v.Verbose, Usage: "print what happens (-vv: also every renewal); to help choose a ttl, a renewal shows when it was sent, how long it took, how much of the lease was left, and the least so far"},
		{Name: "quiet", Common: true, Short: "q", Group: group, Value: &v.Quiet, Usage: "print errors only, no warnings"},
		{Name: "log-format", Group: group, Value: v.LogFormat.Of("text", "json"), Default: "text", Usage: "print messages in `FORMAT`: text or json"},
		{Name: "log-file", Group: group, Value: &v.LogFile, Usage: "append messages, with the time, to `FILE` instead of printing them"},
		{Name: "events", Common: true, Group: group, Value: &v.Events, Usage: "append one line of JSON per event to `FILE|fd:N|-`; - is standard output"},
		{Name: "metrics-listen", Group: group, Value: &v.MetricsListen,
			Usage: "serve /metrics, /healthz and /leader on `[HOST:]PORT`; for Prometheus and others; without HOST, to this machine only"},
		{Name: "metrics-file", Group: group, Value: &v.MetricsFile,
			Usage: "write metrics to `FILE`; name it NAME.prom for the textfile collector of Prometheus' node_exporter"},
		{Name: VersionName, Short: "V", Group: "Help", Value: new(bool), From: Arguments, Usage: "print the version"},
		{Name: HelpAllName, Group: "Help", Value: new(bool), From: Arguments, Usage: "show all options"},
		{Name: "config", Common: true, Group: file, Value: &v.Config, From: NotInFile,
			Usage: "read options from `FILE`; without it, from ~/.config/leaderrun/config.yaml or /etc/leaderrun/config.yaml"},
		{Name: "job", Common: true, Group: file, Value: &v.Job, From: NotInFile, Usage: "run the job `NAME` of the config file, with its options"},
	}
}

// tiers returns the ways to contain a job.
func tiers() (names []string) {
	for _, t := range guard.Tiers() {
		names = append(names, string(t))
	}
	return names
}

// Pick returns the rows with these names.
func (v *Values) Pick(names ...string) []Option {
	return slices.DeleteFunc(v.Table(), func(o Option) bool { return !slices.Contains(names, o.Name) })
}

// ToOperate returns the options that say where a lock is and what to print.
func (v *Values) ToOperate() []Option {
	verbose := v.As("verbose", "print what happens")
	job := v.As("job", "use the settings of the job `NAME` in the config file; the job is not run")
	return slices.Concat(v.Pick("backend", "connect-timeout"), []Option{verbose}, v.Pick("quiet", "log-format", "config"), []Option{job})
}

// As returns the row with a name, with another phrase.
func (v *Values) As(name, usage string) Option {
	o := v.Pick(name)[0]
	o.Usage = usage
	return o
}

// Format returns the option of a subcommand that sets the format of its output.
func Format(value *Choice, def, usage string, formats ...string) Option {
	return Option{Name: "output", Short: "o", Group: "Output", Value: value.Of(formats...), Default: def, From: Arguments, Usage: usage}
}
