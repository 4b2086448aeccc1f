package cmd

import (
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/runner"
)

// The headings under which help shows options, in this order.
var headings = []string{"Which lock", "Waiting", "Running", "Losing the lock", "As a cron job", "As a service", "Health of the job", "Hooks", "Config file", "Output", "Help"}

// options are what a user may ask of a run.
type options struct {
	backend                         string
	lock                            string
	id                              string
	slots                           slotCount
	nonblock                        bool
	wait                            seconds
	conflict                        code
	connectTimeout                  seconds
	shellCommand                    string
	scrubEnv                        bool
	waitChildren                    bool
	containment, requireContainment choice
	notifyJob                       bool
	ttl                             seconds
	signal                          signalValue
	killAfter                       seconds
	onRenewError                    choice
	verbose                         level
	quiet                           bool
	logFormat                       choice
	logFile                         string
	traceRenewals                   bool
	events                          string
	metricsListen, metricsFile      string

	life
}

// flags returns the options of run, with their variables. An option without a
// DefaultText says its default in its usage text, or has none.
func (o *options) flags() []cli.Flag {
	return append(slices.Concat(o.lockFlags(), o.cronFlags(), o.serviceFlags(), o.hookFlags(), o.outputFlags(), o.metricsFlags()), versionFlag())
}

func (o *options) lockFlags() []cli.Flag {
	return []cli.Flag{
		o.backendFlag(),
		&cli.StringFlag{Name: "lock", Aliases: []string{"l"}, Category: "Which lock", EnvVars: []string{"LEADERRUN_LOCK"},
			Destination: &o.lock,
			Usage:       "`NAME` of the lock (default: the base name of COMMAND)"},
		&cli.StringFlag{Name: "id", Category: "Which lock", EnvVars: []string{"LEADERRUN_ID"},
			Destination: &o.id,
			Usage:       "`ID` by which others see us (default: host/pid/random)"},
		&cli.GenericFlag{Name: "slots", Category: "Which lock", EnvVars: []string{"LEADERRUN_SLOTS"},
			Value: &o.slots,
			Usage: "let up to `N` hold the lock at once, each with a slot of its own; another lock than the one without --slots (default: one holder, no slots)"},

		&cli.BoolFlag{Name: "nonblock", Aliases: []string{"n"}, Category: "Waiting", EnvVars: []string{"LEADERRUN_NONBLOCK"},
			Destination: &o.nonblock,
			Usage:       "give up at once if the lock is held"},
		&cli.GenericFlag{Name: "wait", Aliases: []string{"w"}, Category: "Waiting", EnvVars: []string{"LEADERRUN_WAIT"},
			Value: &o.wait,
			Usage: "give up after `DURATION`; a bare number is seconds (default: never)"},
		&cli.GenericFlag{Name: "conflict-exit-code", Aliases: []string{"E"}, Category: "Waiting", EnvVars: []string{"LEADERRUN_CONFLICT_EXIT_CODE"},
			Value: &o.conflict, DefaultText: "75",
			Usage: "exit with `N` if we gave up because the lock is held"},
		o.connectTimeoutFlag(),

		&cli.StringFlag{Name: "command", Aliases: []string{"c"}, Category: "Running", EnvVars: []string{"LEADERRUN_COMMAND"},
			Destination: &o.shellCommand,
			Usage:       "run `LINE` through $SHELL -c; needs --lock"},
		&cli.BoolFlag{Name: "scrub-env", Category: "Running", EnvVars: []string{"LEADERRUN_SCRUB_ENV"},
			Destination: &o.scrubEnv,
			Usage:       "keep the backend's credentials out of the job's environment"},
		&cli.GenericFlag{Name: "containment", Category: "Running", EnvVars: []string{"LEADERRUN_CONTAINMENT"},
			Value: &o.containment, DefaultText: "auto",
			Usage: "keep the job together by `TIER`: pgroup, subreaper, pidns, cgroup, or auto, the best there is but for pidns"},
		&cli.GenericFlag{Name: "require-containment", Category: "Running", EnvVars: []string{"LEADERRUN_REQUIRE_CONTAINMENT"},
			Value: &o.requireContainment,
			Usage: "do not start with less than `TIER`: subreaper, pidns or cgroup"},
		&cli.BoolFlag{Name: "wait-children", Category: "Running", EnvVars: []string{"LEADERRUN_WAIT_CHILDREN"},
			Destination: &o.waitChildren,
			Usage:       "when the command has ended, wait for what it left behind instead of ending it"},
		&cli.BoolFlag{Name: "notify-job", Category: "Running", EnvVars: []string{"LEADERRUN_NOTIFY_JOB"},
			Destination: &o.notifyJob,
			Usage:       "the job tells systemd that it is ready, not leaderrun; needs NotifyAccess=all in its unit"},

		o.ttlFlag(),
		&cli.GenericFlag{Name: "takeover", Category: "Losing the lock", EnvVars: []string{"LEADERRUN_TAKEOVER"},
			Value: &o.takeover, DefaultText: "fast",
			Usage: "after a holder that did not release: `HOW` is fast, start at once, or strict, when its lease is surely over"},
		&cli.GenericFlag{Name: "signal", Aliases: []string{"s"}, Category: "Losing the lock", EnvVars: []string{"LEADERRUN_SIGNAL"},
			Value: &o.signal, DefaultText: "TERM",
			Usage: "send `SIG` first when the job must end"},
		o.killAfterFlag(),
		&cli.GenericFlag{Name: "on-renew-error", Category: "Losing the lock", EnvVars: []string{"LEADERRUN_ON_RENEW_ERROR"},
			Value: &o.onRenewError, DefaultText: "retry",
			Usage: "when a renewal fails: `WHAT` is retry while the lease allows, or stop the job at once"},
	}
}

func (o *options) outputFlags() []cli.Flag {
	return append(o.messageFlags(), []cli.Flag{
		&cli.StringFlag{Name: "log-file", Category: "Output", EnvVars: []string{"LEADERRUN_LOG_FILE"},
			Destination: &o.logFile,
			Usage:       "append messages to `FILE` instead of printing them"},
		&cli.BoolFlag{Name: "trace-renewals", Category: "Output", EnvVars: []string{"LEADERRUN_TRACE_RENEWALS"},
			Destination: &o.traceRenewals,
			Usage:       "print each renewal, to choose a ttl by: when it was sent, how long it took, and what was left"},
		&cli.StringFlag{Name: "events", Category: "Output", EnvVars: []string{"LEADERRUN_EVENTS"},
			Destination: &o.events,
			Usage:       "append one line of JSON per transition to `FILE|fd:N|-`; - is standard output"},
	}...)
}

func (o *options) messageFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "verbose", Aliases: []string{"v"}, Category: "Output", EnvVars: []string{"LEADERRUN_VERBOSE"},
			Value: &o.verbose,
			Usage: "say what happens; twice: every renewal, too"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Category: "Output", EnvVars: []string{"LEADERRUN_QUIET"},
			Destination: &o.quiet,
			Usage:       "print errors only, no warnings"},
		&cli.GenericFlag{Name: "log-format", Category: "Output", EnvVars: []string{"LEADERRUN_LOG_FORMAT"},
			Value: &o.logFormat, DefaultText: "text",
			Usage: "print messages in `FORMAT`: text or json"},
	}
}

// What other subcommands have, too.

func (o *options) backendFlag() cli.Flag {
	return &cli.StringFlag{Name: "backend", Aliases: []string{"b"}, Category: "Which lock", EnvVars: []string{"LEADERRUN_BACKEND"},
		Destination: &o.backend, Value: "file", DefaultText: "file",
		Usage: "`NAME|URL` of the system that keeps the lock: " + strings.Join(known.Schemes(), ", ") + ", or a URL as etcd://host:2379/prefix"}
}

func (o *options) connectTimeoutFlag() cli.Flag {
	return &cli.GenericFlag{Name: "connect-timeout", Category: "Waiting", EnvVars: []string{"LEADERRUN_CONNECT_TIMEOUT"},
		Value: &o.connectTimeout, DefaultText: "5s",
		Usage: "a backend that does not answer within `DURATION` is down"}
}

func (o *options) ttlFlag() cli.Flag {
	return &cli.GenericFlag{Name: "ttl", Category: "Losing the lock", EnvVars: []string{"LEADERRUN_TTL"},
		Value: &o.ttl, DefaultText: "15s",
		Usage: "the lease is `DURATION`: how soon others may take over if we vanish"}
}

func (o *options) killAfterFlag() cli.Flag {
	return &cli.GenericFlag{Name: "kill-after", Aliases: []string{"k"}, Category: "Losing the lock", EnvVars: []string{"LEADERRUN_KILL_AFTER"},
		Value: &o.killAfter, DefaultText: "5s, less if the ttl is under 15s",
		Usage: "send KILL `DURATION` after the signal"}
}

// newOptions returns the defaults.
func newOptions() *options {
	return &options{
		conflict:       code{n: output.ExitHeld},
		connectTimeout: seconds{d: 5e9},
		ttl:            seconds{d: 15e9},
		signal:         signalValue{defaultSignal},
		onRenewError:   choice{"retry", []string{"retry", "stop"}},
		logFormat:      choice{"text", []string{"text", "json"}},

		containment:        choice{"auto", append([]string{"auto"}, tiers()...)},
		requireContainment: choice{"", tiers()},

		life: newLife(),
	}
}

// messages are those that the options ask for.
func (o *options) messages() output.Settings {
	return output.Settings{Verbose: int(o.verbose), Quiet: o.quiet, JSON: o.logFormat.value == "json", Lock: o.lock, Backend: o.backend, Holder: o.id}
}

// timing derives when to renew, to signal and to kill.
func (o *options) timing() runner.Timing { return runner.NewTiming(o.ttl.d, o.grace()) }

// grace is what was asked for; negative if nothing was.
func (o *options) grace() time.Duration {
	if !o.killAfter.set {
		return -1
	}
	return o.killAfter.d
}
