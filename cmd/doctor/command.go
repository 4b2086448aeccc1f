package doctor

import (
	"context"
	"log/slog"
	"os"
	"slices"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A diagnosis is one use of leaderrun doctor.
type diagnosis struct {
	*env.Env
	*options.Values
	timeout options.Duration
	format  options.Choice
}

// Command is the subcommand doctor.
func Command(e *env.Env) *options.Command {
	return &options.Command{
		Name:  "doctor",
		Usage: "check a backend, the path to it and this machine",
		Define: func() ([]options.Option, func(*options.Request) error) {
			d := &diagnosis{Env: e, Values: options.NewValues()}
			return slices.Concat([]options.Option{
				d.As("lock", "use a scratch lock whose name begins with `NAME`, because permissions may depend on it; the lock NAME itself is not touched"),
				{Name: "timeout", Group: "Waiting", Value: &d.timeout, Default: "1m", From: options.Arguments, Usage: "end the checks after `DURATION`"},
				options.Format(&d.format, "text", "print the results as `FORMAT`: text or json", "text", "json"),
				d.As("ttl", "check for a job with a --ttl of `DURATION`"),
				d.As("kill-after", "check for a job with a --kill-after of `DURATION`"),
			}, d.ToOperate()), d.run
		},
	}
}

// check refuses what cannot be meant.
func (d *diagnosis) check() error {
	if err := d.CheckConnectTimeout(); err != nil {
		return err
	}
	if d.timeout.D <= 0 {
		return locks.Usagef("--timeout must be more than 0")
	}
	if err := CheckName(d.Lock); err != nil {
		return err
	}
	return d.Timing().CheckTTL()
}

// run makes the checks and prints them. What they found is the exit status.
func (d *diagnosis) run(r *options.Request) error {
	logger := d.Console.Start(d.Messages())
	if err := d.check(); err != nil {
		return err
	}
	if d.Verbose == 0 { // what matters is in the checks
		logger = slog.New(slog.DiscardHandler)
	}
	env.Survive() // who reads only the first lines must not leave a lock behind
	ctx, cancel := context.WithTimeoutCause(context.Background(), d.timeout.D, ErrTimeLimit)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	hurry, ended := env.UntilEnded(stop)
	report := &reporter{out: d.Out, progress: d.Console.Progress, json: d.format.Value == "json", quiet: d.Quiet, broken: stop}
	checks := Run(ctx, hurry, d.config(source(r.Setting("backend")), logger, report))
	status := output.Status(Worst(checks))
	if sig := ended(); sig != nil {
		status = proc.Exit{Signal: sig}.Status()
	}
	if err := report.end(locks.RedactText(d.Backend), status, checks); err != nil {
		return err
	}
	return output.ExitWith(status)
}

func (d *diagnosis) config(source string, logger *slog.Logger, r *reporter) Config {
	info := new(backend.Info) // of a backend that is not ours we know nothing
	if u, err := locks.Parse(d.Backend); err == nil && known.Find(u.Scheme) != nil {
		info = known.Find(u.Scheme)
	}
	return Config{
		Backend:        d.Backend,
		Source:         source,
		Open:           d.Registry.Open,
		Find:           d.Helper,
		Foreign:        func(scheme string) bool { return known.Find(scheme) == nil },
		Variables:      info.Heeded(),
		Addresses:      info.Addresses(),
		Environ:        os.Environ(),
		Lock:           d.Lock,
		Holder:         env.NewID(),
		TTL:            d.TTL.D,
		Grace:          d.Grace(),
		ConnectTimeout: d.ConnectTimeout.D,
		Spacing:        info.Spacing,
		Version:        d.Version,
		Streams:        []Stream{stream("standard input", os.Stdin), stream("standard output", os.Stdout), stream("standard error", os.Stderr)},
		Clock:          clock.Boot{},
		Logger:         logger,
		Report:         r.check,
		Progress:       r.progress,
	}
}

// source says who named the backend.
func source(backend *options.Setting) string {
	switch backend.Rank {
	case options.Flag:
		return "from the option --backend"
	case options.Variable:
		return "from " + backend.Source
	case options.Default:
		return "the default"
	}
	return "from the config file"
}

func stream(name string, f *os.File) Stream {
	width, _, _ := output.Screen(f)
	return Stream{Name: name, Columns: width}
}
