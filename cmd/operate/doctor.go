package operate

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/cmd/doctor"
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
	*operator
	timeout options.Duration
	format  options.Choice
}

func doctorCommand(e *env.Env) *options.Command {
	return define(e, "doctor", "look for what is wrong with a backend, the way to it and this machine", func(p *operator) ([]options.Option, func(*options.Request) error) {
		d := &diagnosis{p, options.Duration{D: time.Minute}, options.NewChoice("text", "text", "json")}
		return append([]options.Option{
			p.As("lock", "try with a scratch lock whose name begins with `NAME`, as permissions may depend on it; the lock NAME is not touched"),
			{Name: "timeout", Group: "Waiting", Value: &d.timeout, Default: "1m", From: options.Arguments, Usage: "all together may take `DURATION`"},
			options.Format(&d.format, "text", "print what was found as `FORMAT`: text or json"),
		}, p.Pick("ttl", "kill-after")...), d.run
	})
}

// check refuses what cannot be meant.
func (d *diagnosis) check() error {
	if err := d.CheckConnectTimeout(); err != nil {
		return err
	}
	if d.timeout.D <= 0 {
		return &locks.UsageError{What: "--timeout must be more than 0"}
	}
	if err := doctor.CheckName(d.Lock); err != nil {
		return err
	}
	return d.Timing().CheckTTL()
}

// run makes the checks and prints them. What they found is the exit status.
func (d *diagnosis) run(r *options.Request) error {
	logger := d.Term.Start(d.Messages())
	if err := d.check(); err != nil {
		return err
	}
	if d.Verbose == 0 { // what matters is in the checks
		logger = slog.New(slog.DiscardHandler)
	}
	env.Survive() // who reads only the first lines must not leave a lock behind
	ctx, cancel := context.WithTimeoutCause(context.Background(), d.timeout.D, doctor.ErrTimeLimit)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	hurry, ended := env.UntilEnded(stop)
	report := &doctor.Reporter{Out: d.Out, Progress: d.Term.Progress, JSON: d.format.Value == "json", Quiet: d.Quiet, Broken: stop}
	checks := doctor.Run(ctx, hurry, d.config(source(r.Setting("backend")), logger, report))
	status := output.Status(doctor.Worst(checks))
	if sig := ended(); sig != nil {
		status = proc.Exit{Signal: sig}.Status()
	}
	if err := report.End(locks.RedactText(d.Backend), status, checks); err != nil {
		return err
	}
	return output.ExitWith(status)
}

func (d *diagnosis) config(source string, logger *slog.Logger, r *doctor.Reporter) doctor.Config {
	info := known.Find(schemeOf(d.Backend))
	if info == nil {
		info = new(backend.Info) // of a backend that is not ours we know nothing
	}
	return doctor.Config{
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
		Streams:        streams(),
		Clock:          clock.Boot{},
		Logger:         logger,
		Report:         r.Check,
		Progress:       r.Progress,
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

func schemeOf(backend string) string {
	u, err := locks.Parse(backend)
	if err != nil {
		return "" // a check says so
	}
	return u.Scheme
}

func streams() []doctor.Stream {
	var all []doctor.Stream
	for _, s := range []struct {
		name string
		file *os.File
	}{{"standard input", os.Stdin}, {"standard output", os.Stdout}, {"standard error", os.Stderr}} {
		width, _, _ := output.Screen(s.file)
		all = append(all, doctor.Stream{Name: s.name, Columns: width})
	}
	return all
}
