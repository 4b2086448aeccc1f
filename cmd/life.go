package cmd

import (
	"fmt"
	"hash/fnv"
	"os"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/window"
)

// life is the options that make a command a line of crontab, or a service.
type life struct {
	oncePer                       string
	oncePerAttempt                bool
	takeover                      choice
	minHold, maxRuntime, splay    seconds
	restart                       choice
	restartDelay, restartMaxDelay seconds
	giveUpAfter                   count
	rejoin                        bool
	noResign                      bool
	priority                      priority
	health                        healthOptions
	hooks                         hookOptions
}

func newLife() life {
	return life{
		takeover:        choice{"fast", []string{"fast", "strict"}},
		restart:         choice{"no", []string{"no", "on-failure", "always"}},
		restartDelay:    seconds{d: time.Second},
		restartMaxDelay: seconds{d: time.Minute},
		health:          newHealthOptions(),
		hooks:           hookOptions{timeout: seconds{d: 30 * time.Second}},
	}
}

func (o *options) cronFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "once-per", Category: "As a cron job", EnvVars: []string{"LEADERRUN_ONCE_PER"},
			Destination: &o.oncePer,
			Usage:       "one success per `WINDOW` is enough for the whole fleet: later runs do nothing and exit with 0, or that of -E; 10m, 1h, day, week or a cron expression"},
		&cli.BoolFlag{Name: "once-per-attempt", Category: "As a cron job", EnvVars: []string{"LEADERRUN_ONCE_PER_ATTEMPT"},
			Destination: &o.oncePerAttempt,
			Usage:       "one start per window is enough, even if the job failed"},
		&cli.GenericFlag{Name: "splay", Category: "As a cron job", EnvVars: []string{"LEADERRUN_SPLAY"},
			Value: &o.splay,
			Usage: "first wait for up to `DURATION`, on one host for one lock always as long"},
		&cli.GenericFlag{Name: "min-hold", Category: "As a cron job", EnvVars: []string{"LEADERRUN_MIN_HOLD"},
			Value: &o.minHold,
			Usage: "keep the lock for at least `DURATION` from the start of the job, for hosts whose clocks are late"},
		&cli.GenericFlag{Name: "max-runtime", Category: "As a cron job", EnvVars: []string{"LEADERRUN_MAX_RUNTIME"},
			Value: &o.maxRuntime,
			Usage: "stop a job that runs for longer than `DURATION`, and exit with 124"},
	}
}

func (o *options) serviceFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.BoolFlag{Name: "rejoin", Category: "As a service", EnvVars: []string{"LEADERRUN_REJOIN"},
			Destination: &o.rejoin,
			Usage:       "when the lock was lost or the job has ended, wait for the lock again"},
		&cli.GenericFlag{Name: "restart", Category: "As a service", EnvVars: []string{"LEADERRUN_RESTART"},
			Value: &o.restart, DefaultText: "no",
			Usage: "start a job that has ended again, under the same lease: `WHEN` is no, on-failure or always"},
		&cli.GenericFlag{Name: "restart-delay", Category: "As a service", EnvVars: []string{"LEADERRUN_RESTART_DELAY"},
			Value: &o.restartDelay, DefaultText: "1s",
			Usage: "pause for `DURATION` before a restart; each one in a row doubles it"},
		&cli.GenericFlag{Name: "restart-max-delay", Category: "As a service", EnvVars: []string{"LEADERRUN_RESTART_MAX_DELAY"},
			Value: &o.restartMaxDelay, DefaultText: "1m",
			Usage: "pause for `DURATION` at most; after a job that ran for so long the pause is short again"},
		&cli.GenericFlag{Name: "give-up-after", Category: "As a service", EnvVars: []string{"LEADERRUN_GIVE_UP_AFTER"},
			Value: &o.giveUpAfter,
			Usage: "give up the lock after `N` failures in a row, so that another host can try (default: never)"},
		&cli.BoolFlag{Name: "no-resign", Category: "As a service", EnvVars: []string{"LEADERRUN_NO_RESIGN"},
			Destination: &o.noResign,
			Usage:       "do not obey leaderrun resign"},
		&cli.GenericFlag{Name: "priority", Category: "As a service", EnvVars: []string{"LEADERRUN_PRIORITY"},
			Value: &o.priority, DefaultText: "0",
			Usage: "let those go first who wait with a greater `N` (" + known.Queues() + ")"},
	}, o.healthFlags()...)
}

// checkLife refuses what cannot be meant.
func (o *options) checkLife() error {
	contradiction := func(format string, args ...any) error {
		return &locks.UsageError{What: fmt.Sprintf(format, args...)}
	}
	restarts := o.restart.value != "no"
	switch {
	case o.oncePer != "" && o.rejoin:
		return contradiction("--once-per and --rejoin contradict each other: one runs the job once, the other again and again")
	case o.oncePer != "" && o.restart.value == "always":
		return contradiction("--once-per and --restart always contradict each other: one runs the job once, the other again and again")
	case o.oncePer != "" && o.slots.set:
		return contradiction("--once-per and --slots contradict each other: what has run is noted beside the one slot")
	case o.oncePer == "" && o.oncePerAttempt:
		return output.WithHint(contradiction("--once-per-attempt needs --once-per"), "add --once-per WINDOW")
	case o.rejoin && o.nonblock:
		return contradiction("--rejoin and -n contradict each other: one waits for the lock again, the other never")
	case o.rejoin && o.wait.set:
		return contradiction("--rejoin and -w contradict each other: one waits for the lock again and again, the other gives up")
	case o.restartDelay.d <= 0:
		return contradiction("--restart-delay %v is out of range: more than 0", o.restartDelay.d)
	case o.restartDelay.d > o.restartMaxDelay.d:
		return contradiction("--restart-delay %v is longer than --restart-max-delay %v", o.restartDelay.d, o.restartMaxDelay.d)
	case o.giveUpAfter > 0 && !restarts:
		return output.WithHint(contradiction("--give-up-after needs --restart"), "add --restart on-failure")
	case o.hooks.timeout.d <= 0:
		return contradiction("--hook-timeout %v is out of range: more than 0", o.hooks.timeout.d)
	}
	return o.health.check()
}

// once says to which window a run belongs that is started now; nil: windows do
// not matter.
func (o *options) once(now time.Time) (*runner.Once, error) {
	if o.oncePer == "" {
		return nil, nil
	}
	w, err := window.Parse(o.oncePer, os.Getenv("CRON_TZ"))
	if err != nil {
		return nil, fmt.Errorf("--once-per: %w", err)
	}
	slot := w.Slot(now)
	return &runner.Once{Schedule: w.String(), Slot: slot.Key, Label: slot.Label, Attempt: o.oncePerAttempt}, nil
}

func (o *options) restarts() runner.Restart {
	return runner.Restart{
		OnFailure:   o.restart.value != "no",
		OnSuccess:   o.restart.value == "always",
		Delay:       o.restartDelay.d,
		MaxDelay:    o.restartMaxDelay.d,
		GiveUpAfter: int(o.giveUpAfter),
	}
}

// splayed is the pause before the first campaign.
func (o *options) splayed() time.Duration {
	if o.splay.d <= 0 {
		return 0
	}
	host, _ := os.Hostname() // without a name all such hosts are one
	return splay(host, o.lock, o.splay.d)
}

// splay picks a moment in [0, d) by host and lock, so that a host is always as
// late, and all of them are spread evenly.
func splay(host, lock string, d time.Duration) time.Duration {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s", host, lock)
	return time.Duration(mix(h.Sum64()) % uint64(d))
}

// mix spreads similar numbers, as the last step of splitmix64 does.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// starters returns what is runner.Config.Starter. The first one was begun while
// the options were read.
func (p *program) starters(o *options) func() (proc.Starter, error) {
	var mu sync.Mutex
	return func() (proc.Starter, error) {
		mu.Lock()
		s := p.starter
		p.starter = nil
		mu.Unlock()
		if s != nil {
			return s, nil
		}
		s = newStarter()
		if err := contain(s, o); err != nil {
			s.Close()
			return nil, err
		}
		return s, nil
	}
}
