package cmd

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/doctor"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A diagnosis is what is asked of leaderrun doctor.
type diagnosis struct {
	*options
	timeout seconds
	output  choice
}

func (p *program) doctorCommand() *cli.Command {
	d := &diagnosis{newOptions(), seconds{d: time.Minute}, choice{"text", []string{"text", "json"}}}
	return &cli.Command{
		Name:  "doctor",
		Usage: "look for what is wrong with a backend, the way to it and this machine",
		Flags: operatorFlags(d.options,
			lockFlag(d.options, "try with a scratch lock whose name begins with `NAME`, as permissions may depend on it; the lock NAME is not touched"),
			&cli.GenericFlag{Name: "timeout", Category: "Waiting",
				Value: &d.timeout, DefaultText: "1m",
				Usage: "all together may take `DURATION`"},
			&cli.GenericFlag{Name: "output", Aliases: []string{"o"}, Category: "Output",
				Value: &d.output, DefaultText: "text",
				Usage: "print what was found as `FORMAT`: text or json"},
			d.ttlFlag(), d.killAfterFlag(),
		),
		Action: func(ctx *cli.Context) error {
			if err := noArguments(ctx); err != nil {
				return err
			}
			p.settle(d.options, false)
			return p.doctor(d)
		},
	}
}

// check refuses what cannot be meant.
func (d *diagnosis) check() error {
	if err := d.checkConnectTimeout(); err != nil {
		return err
	}
	if d.timeout.d <= 0 {
		return &locks.UsageError{What: "--timeout must be more than 0"}
	}
	if err := doctor.CheckName(d.lock); err != nil {
		return err
	}
	return d.timing().CheckTTL()
}

// doctor makes the checks and prints them. What they found is the exit status.
func (p *program) doctor(d *diagnosis) error {
	logger := p.term.Start(d.messages())
	if err := d.check(); err != nil {
		return err
	}
	if d.verbose == 0 { // what matters is in the checks
		logger = slog.New(slog.DiscardHandler)
	}
	survive() // who reads only the first lines must not leave a lock behind
	ctx, cancel := context.WithTimeoutCause(context.Background(), d.timeout.d, doctor.ErrTimeLimit)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	hurry, ended := untilEnded(stop)
	r := p.reporter(d.output.value == "json", stop)
	r.quiet = d.quiet
	checks := doctor.Run(ctx, hurry, p.doctorConfig(d, logger, r))
	status := output.Status(doctor.Worst(checks))
	if sig := ended(); sig != nil {
		status = proc.Exit{Signal: sig}.Status()
	}
	if err := r.end(locks.RedactText(d.backend), status, checks); err != nil || status == 0 {
		return err
	}
	return &output.Exit{Status: status}
}

func (p *program) doctorConfig(d *diagnosis, logger *slog.Logger, r *reporter) doctor.Config {
	info := known.Find(schemeOf(d.backend))
	if info == nil {
		info = new(backend.Info) // of a backend that is not ours we know nothing
	}
	return doctor.Config{
		Backend:        d.backend,
		Source:         p.backendSource(d.options),
		Open:           p.Registry.Open,
		Find:           p.findHelper,
		Foreign:        func(scheme string) bool { return known.Find(scheme) == nil },
		Variables:      info.Heeded(),
		Addresses:      info.Addresses(),
		Environ:        os.Environ(),
		Lock:           d.lock,
		Holder:         newID(),
		TTL:            d.ttl.d,
		Grace:          d.grace(),
		ConnectTimeout: d.connectTimeout.d,
		Spacing:        info.Spacing,
		Version:        p.Version,
		Streams:        streams(),
		Clock:          clock.Boot{},
		Logger:         logger,
		Report:         r.check,
		Progress:       r.progress,
	}
}

// findHelper returns where a backend's helper program is; "" if it needs none.
func (p *program) findHelper(scheme string) (string, error) {
	if slices.Contains(p.Registry.Schemes(), scheme) {
		return "", nil
	}
	return p.Programs.Find(scheme)
}

// backendSource says who named the backend.
func (p *program) backendSource(o *options) string {
	switch {
	case p.isGiven("backend"):
		return "from the option --backend"
	case os.Getenv("LEADERRUN_BACKEND") != "":
		return "from LEADERRUN_BACKEND"
	case o.backend == "file":
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

// untilEnded calls stop when we are sent a signal that ends us, and ends a context
// when the next one comes. The function that it returns says which signal came.
func untilEnded(stop context.CancelCauseFunc) (hurry context.Context, ended func() os.Signal) {
	hurry, cancel := context.WithCancel(context.Background())
	caught, first := make(chan os.Signal, 2), make(chan os.Signal, 1)
	catch(caught, endings())
	go func() {
		first <- <-caught
		stop(errInterrupted)
		<-caught
		cancel()
	}()
	return hurry, func() os.Signal {
		select {
		case sig := <-first:
			return sig
		default:
			return nil
		}
	}
}

var errInterrupted = errors.New("interrupted")
