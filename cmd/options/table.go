package options

import (
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// HelpName and VersionName are options that ask for something else than the command.
const (
	HelpName    = "help"
	VersionName = "version"
)

// Groups are the headings under which help shows options, in this order.
var Groups = []string{"Which lock", "Waiting", "Running", "Losing the lock", "As a cron job", "As a service", "Health of the job", "Hooks", "Config file", "Output", "Help"}

// Values are the values of a run's options.
type Values struct {
	Backend, Lock, ID string
	Slots             Number

	Nonblock       bool
	Wait           Duration
	Conflict       Number
	ConnectTimeout Duration

	ShellCommand                      string
	ScrubEnv, WaitChildren, NotifyJob bool
	Containment, RequireContainment   Choice

	TTL, KillAfter         Duration
	Takeover, OnRenewError Choice
	Signal                 Signal

	OncePer                    string
	OncePerAttempt             bool
	Splay, MinHold, MaxRuntime Duration

	Rejoin, NoResign              bool
	Restart                       Choice
	RestartDelay, RestartMaxDelay Duration
	GiveUpAfter, Priority         Number

	HealthCmd, HealthHTTP, HealthTCP                 string
	HealthInterval, HealthTimeout, HealthStartPeriod Duration
	HealthRetries                                    Number

	OnStandby, OnElected, OnResign, OnLost string // each a command
	HookTimeout                            Duration

	Config, Job string

	Verbose                    Level
	Quiet, TraceRenewals       bool
	LogFormat                  Choice
	LogFile, Events            string
	MetricsListen, MetricsFile string
}

// NewValues returns the defaults, which are in the table.
func NewValues() *Values {
	v := new(Values)
	for _, o := range v.Table() {
		o.setDefault()
	}
	return v
}

// Table has the options of a run, in the order of help.
func (v *Values) Table() []Option {
	return slices.Concat(v.lockOptions(), v.cronOptions(), v.serviceOptions(), v.healthOptions(), v.hookOptions(), v.outputOptions())
}

func (v *Values) lockOptions() []Option {
	const which, waiting, running, losing = "Which lock", "Waiting", "Running", "Losing the lock"
	return []Option{
		{Name: "backend", Short: "b", Group: which, Value: &v.Backend, Default: "file",
			Usage: "`NAME|URL` of the system that keeps the lock: " + strings.Join(known.Schemes(), ", ") + ", or a URL as etcd://host:2379/prefix"},
		{Name: "lock", Short: "l", Group: which, Value: &v.Lock, Usage: "`NAME` of the lock (default: the base name of COMMAND)"},
		{Name: "id", Group: which, Value: &v.ID, Usage: "`ID` by which others see us (default: host/pid/random)"},
		{Name: "slots", Group: which, Value: v.Slots.in("number", 1, locks.MaxSlot),
			Usage: "let up to `N` hold the lock at once, each with a slot of its own; another lock than the one without --slots (default: one holder, no slots)"},

		{Name: "nonblock", Short: "n", Group: waiting, Value: &v.Nonblock, Usage: "give up at once if the lock is held"},
		{Name: "wait", Short: "w", Group: waiting, Value: &v.Wait, Usage: "give up after `DURATION`; a bare number is seconds (default: never)"},
		{Name: "conflict-exit-code", Short: "E", Group: waiting, Value: v.Conflict.in("exit status", 0, 255), Default: "75",
			Usage: "exit with `N` if we gave up because the lock is held"},
		{Name: "connect-timeout", Group: waiting, Value: &v.ConnectTimeout, Default: "5s",
			Usage: "a backend that does not answer within `DURATION` is down"},

		{Name: "command", Short: "c", Group: running, Value: &v.ShellCommand, From: NotInFile, Usage: "run `LINE` through $SHELL -c; needs --lock"},
		{Name: "scrub-env", Group: running, Value: &v.ScrubEnv, Usage: "keep the backend's credentials out of the job's environment"},
		{Name: "containment", Group: running, Value: v.Containment.Of(append([]string{"auto"}, tiers()...)...), Default: "auto",
			Usage: "keep the job together by `TIER`: pgroup, subreaper, pidns, cgroup, or auto, the best there is but for pidns"},
		{Name: "require-containment", Group: running, Value: v.RequireContainment.Of(tiers()...),
			Usage: "do not start with less than `TIER`: subreaper, pidns or cgroup"},
		{Name: "wait-children", Group: running, Value: &v.WaitChildren,
			Usage: "when the command has ended, wait for what it left behind instead of ending it"},
		{Name: "notify-job", Group: running, Value: &v.NotifyJob,
			Usage: "the job tells systemd that it is ready, not leaderrun; needs NotifyAccess=all in its unit"},

		{Name: "ttl", Group: losing, Value: &v.TTL, Default: "15s", Usage: "the lease is `DURATION`: how soon others may take over if we vanish"},
		{Name: "takeover", Group: losing, Value: v.Takeover.Of("fast", "strict"), Default: "fast",
			Usage: "after a holder that did not release: `HOW` is fast, start at once, or strict, when its lease is surely over"},
		{Name: "signal", Short: "s", Group: losing, Value: &v.Signal, Default: "TERM", Usage: "send `SIG` first when the job must end"},
		{Name: "kill-after", Short: "k", Group: losing, Value: &v.KillAfter, Default: "5s, less if the ttl is under 15s",
			Usage: "send KILL `DURATION` after the signal"},
		{Name: "on-renew-error", Group: losing, Value: v.OnRenewError.Of("retry", "stop"), Default: "retry",
			Usage: "when a renewal fails: `WHAT` is retry while the lease allows, or stop the job at once"},
	}
}

func (v *Values) cronOptions() []Option {
	const group = "As a cron job"
	return []Option{
		{Name: "once-per", Group: group, Value: &v.OncePer,
			Usage: "one success per `WINDOW` is enough for the whole fleet: later runs do nothing and exit with 0, or that of -E; 10m, 1h, day, week or a cron expression"},
		{Name: "once-per-attempt", Group: group, Value: &v.OncePerAttempt, Usage: "one start per window is enough, even if the job failed"},
		{Name: "splay", Group: group, Value: &v.Splay, Usage: "first wait for up to `DURATION`, on one host for one lock always as long"},
		{Name: "min-hold", Group: group, Value: &v.MinHold,
			Usage: "keep the lock for at least `DURATION` from the start of the job, for hosts whose clocks are late"},
		{Name: "max-runtime", Group: group, Value: &v.MaxRuntime, Usage: "stop a job that runs for longer than `DURATION`, and exit with 124"},
	}
}

func (v *Values) serviceOptions() []Option {
	const group = "As a service"
	return []Option{
		{Name: "rejoin", Group: group, Value: &v.Rejoin, Usage: "when the lock was lost or the job has ended, wait for the lock again"},
		{Name: "restart", Group: group, Value: v.Restart.Of("no", "on-failure", "always"), Default: "no",
			Usage: "start a job that has ended again, under the same lease: `WHEN` is no, on-failure or always"},
		{Name: "restart-delay", Group: group, Value: &v.RestartDelay, Default: "1s",
			Usage: "pause for `DURATION` before a restart; each one in a row doubles it"},
		{Name: "restart-max-delay", Group: group, Value: &v.RestartMaxDelay, Default: "1m",
			Usage: "pause for `DURATION` at most; after a job that ran for so long the pause is short again"},
		{Name: "give-up-after", Group: group, Value: v.GiveUpAfter.in("number", 0, 1_000_000),
			Usage: "give up the lock after `N` failures in a row, so that another host can try (default: never)"},
		{Name: "no-resign", Group: group, Value: &v.NoResign, Usage: "do not obey leaderrun resign"},
		{Name: "priority", Group: group, Value: v.Priority.in("number", -1000, 1000), Default: "0",
			Usage: "let those go first who wait with a greater `N` (" + known.Queues() + ")"},
	}
}

// The options about health are named as Docker's are.
func (v *Values) healthOptions() []Option {
	const group = "Health of the job"
	return []Option{
		{Name: "health-cmd", Group: group, Value: &v.HealthCmd, Usage: "give up the lock when `CMD` keeps failing"},
		{Name: "health-http", Group: group, Value: &v.HealthHTTP, Usage: "give up the lock when `URL` keeps answering anything but 2xx or 3xx"},
		{Name: "health-tcp", Group: group, Value: &v.HealthTCP, Usage: "give up the lock when `HOST:PORT` keeps refusing connections"},
		{Name: "health-interval", Group: group, Value: &v.HealthInterval, Default: "30s", Usage: "check every `DURATION`"},
		{Name: "health-timeout", Group: group, Value: &v.HealthTimeout, Default: "30s", Usage: "a check that takes longer than `DURATION` has failed"},
		{Name: "health-retries", Group: group, Value: v.HealthRetries.in("number", 0, 1_000_000), Default: "3", Usage: "`N` failures in a row make it unhealthy"},
		{Name: "health-start-period", Group: group, Value: &v.HealthStartPeriod,
			Usage: "failures in the first `DURATION` of the job do not count until a check has succeeded"},
	}
}

func (v *Values) hookOptions() []Option {
	const group = "Hooks"
	return []Option{
		{Name: "on-standby", Group: group, Value: &v.OnStandby, Usage: "run `CMD` when we begin to wait for the lock"},
		{Name: "on-elected", Group: group, Value: &v.OnElected, Usage: "run `CMD` under the lease before the job; if it fails, give up the lock"},
		{Name: "on-resign", Group: group, Value: &v.OnResign, Usage: "run `CMD` under the lease when nothing of the job is left"},
		{Name: "on-lost", Group: group, Value: &v.OnLost, Usage: "run `CMD` after the lock was lost and the job killed"},
		{Name: "hook-timeout", Group: group, Value: &v.HookTimeout, Default: "30s", Usage: "stop a hook that runs for longer than `DURATION`"},
	}
}

func (v *Values) outputOptions() []Option {
	const file, group = "Config file", "Output"
	return []Option{
		{Name: "verbose", Short: "v", Group: group, Value: &v.Verbose, Usage: "say what happens; twice: every renewal, too"},
		{Name: "quiet", Short: "q", Group: group, Value: &v.Quiet, Usage: "print errors only, no warnings"},
		{Name: "log-format", Group: group, Value: v.LogFormat.Of("text", "json"), Default: "text", Usage: "print messages in `FORMAT`: text or json"},
		{Name: "log-file", Group: group, Value: &v.LogFile, Usage: "append messages to `FILE` instead of printing them"},
		{Name: "trace-renewals", Group: group, Value: &v.TraceRenewals,
			Usage: "print each renewal, to choose a ttl by: when it was sent, how long it took, and what was left"},
		{Name: "events", Group: group, Value: &v.Events, Usage: "append one line of JSON per transition to `FILE|fd:N|-`; - is standard output"},
		{Name: "metrics-listen", Group: group, Value: &v.MetricsListen,
			Usage: "serve /metrics for Prometheus, /healthz and /leader on `[HOST:]PORT`; without a host only to this machine"},
		{Name: "metrics-file", Group: group, Value: &v.MetricsFile,
			Usage: "write metrics to `FILE`, NAME.prom for the textfile collector of Prometheus' node_exporter"},
		{Name: VersionName, Short: "V", Group: "Help", Value: new(bool), From: Arguments, Usage: "print the version"},
		{Name: "config", Group: file, Value: &v.Config, From: NotInFile,
			Usage: "read options from `FILE` (default: ~/.config/leaderrun/config.yaml, or /etc/leaderrun/config.yaml)"},
		{Name: "job", Group: file, Value: &v.Job, From: NotInFile, Usage: "run the job `NAME` of the config file, with its options"},
	}
}

// Pick returns the rows of these names.
func (v *Values) Pick(names ...string) []Option {
	return slices.DeleteFunc(v.Table(), func(o Option) bool { return !slices.Contains(names, o.Name) })
}

// ToOperate returns those that say where a lock is and what to print.
func (v *Values) ToOperate() []Option {
	return v.Pick("backend", "connect-timeout", "verbose", "quiet", "log-format", "config", "job")
}

// As returns the row of a name with another phrase.
func (v *Values) As(name, usage string) Option {
	o := v.Pick(name)[0]
	o.Usage = usage
	return o
}

// Format is the option of a subcommand that says in which of these formats it prints.
func Format(value *Choice, def, usage string, formats ...string) Option {
	return Option{Name: "output", Short: "o", Group: "Output", Value: value.Of(formats...), Default: def, From: Arguments, Usage: usage}
}
