package doctor

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"syscall"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner"
)

// A diagnosis is one use of leaderrun doctor.
type diagnosis struct {
	env     *env.Env
	opt     *options.Values
	timeout options.Duration
	format  options.Choice
}

// Command is the subcommand doctor.
func Command(e *env.Env) *options.Command {
	return &options.Command{
		Name:  "doctor",
		Usage: "check a backend, the path to it and this machine",
		Define: func() ([]options.Option, func(*options.Invocation) error) {
			d := &diagnosis{env: e, opt: options.NewValues()}
			return slices.Concat([]options.Option{
				d.opt.As("lock", "use a scratch lock whose name begins with `NAME`, because permissions may depend on it; the lock NAME itself is not touched"),
				{Name: "timeout", Group: "Waiting", Value: d.timeout.Positive(), Default: "1m", From: options.Arguments, Usage: "end the checks after `DURATION`"},
				options.Format(&d.format, "text", "print the results as `FORMAT`: text or json", "text", "json"),
				d.opt.As("ttl", "check for a job with a --ttl of `DURATION`"),
			}, d.opt.ToOperate()), d.run
		},
	}
}

// check returns an error if the options make no sense.
func (d *diagnosis) check() error {
	if err := checkName(d.opt.Lock); err != nil {
		return err
	}
	var info *backend.Info
	if u, err := locks.Parse(d.opt.Backend); err == nil { // else a check says why
		info = known.Find(u.Scheme)
	}
	return d.opt.CheckTTL(info)
}

// run makes the checks and prints them. The worst of them decides the exit status.
func (d *diagnosis) run(r *options.Invocation) error {
	logger := d.env.Console.Start(d.opt.Messages())
	if err := d.check(); err != nil {
		return err
	}
	if d.opt.Verbose == 0 { // the checks have everything that matters
		logger = slog.New(slog.DiscardHandler)
	}
	env.Survive() // a reader that stops after the first lines must not leave a lock behind
	ctx, cancel := context.WithTimeoutCause(context.Background(), d.timeout.D, errTimeLimit)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	forced, ended := env.UntilEnded(stop)
	report := &reporter{out: d.env.Out, progress: d.env.Console.Progress, json: d.format.Value == "json", quiet: d.opt.Quiet, broken: stop}
	checks := diagnose(ctx, forced, d.config(source(r.Setting("backend")), logger, report))
	result := output.ExitWith(output.Status(worst(checks)))
	if sig := ended(); sig != nil {
		result = &runner.SignalError{Signal: sig}
	}
	switch err := report.end(known.RedactText(d.opt.Backend), output.Status(result), checks); {
	case errors.Is(err, syscall.EPIPE): // the write would have ended us with this signal
		return &runner.SignalError{Signal: syscall.SIGPIPE}
	case err != nil:
		return err
	}
	return result
}

func (d *diagnosis) config(source string, logger *slog.Logger, r *reporter) Config {
	info := new(backend.Info) // we know nothing about a backend that is not ours
	if u, err := locks.Parse(d.opt.Backend); err == nil && known.Find(u.Scheme) != nil {
		info = known.Find(u.Scheme)
	}
	return Config{
		Backend:        d.opt.Backend,
		Source:         source,
		Open:           d.env.Registry.Open,
		Find:           d.env.Helper,
		Foreign:        func(scheme string) bool { return known.Find(scheme) == nil },
		Variables:      info.Heeded(),
		Addresses:      info.Addresses(),
		Environ:        os.Environ(),
		Lock:           d.opt.Lock,
		Holder:         env.NewID(),
		TTL:            d.opt.TTL.D,
		ConnectTimeout: d.opt.ConnectTimeout.D,
		Spacing:        info.Spacing,
		MinTTL:         info.MinTTL,
		Version:        d.env.Version,
		Clock:          clock.Boot{},
		Logger:         logger,
		Report:         r.check,
		Progress:       r.progress,
	}
}

// source says where the name of the backend comes from.
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
