package operate

import (
	"context"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// exitFree is the exit status of leaderrun status if no lock is held.
const exitFree = 1

func statusCommand(e *env.Env) *options.Command {
	return define(e, "status", "show who holds a lock, or all locks; exit with 0 if one is held, 1 if not", func(p *operator) ([]options.Option, func(*options.Request) error) {
		var all bool
		var format options.Choice
		return []options.Option{
			p.opt.As("lock", "`NAME` of the lock (default: all)"),
			allOption(&all),
			options.Format(&format, "table", "print as `FORMAT`: table, wide or json", "table", "wide", "json"),
		}, func(*options.Request) error { return p.status(all, format.Value) }
	})
}

func allOption(all *bool) options.Option {
	return options.Option{Name: "all", Short: "a", Group: "Which lock", Value: all, From: options.Arguments,
		Usage: "all locks under the prefix of the backend's URL"}
}

// status prints the locks, and sets the exit status.
func (p *operator) status(all bool, format string) error {
	v, err := p.see(all, "leaderrun status")
	if err != nil {
		return err
	}
	defer v.close()
	seen, err := v.Look(context.Background())
	if err != nil {
		return output.Explain(p.opt.Lock, err)
	}
	if err := p.print(seen, format); err != nil || !free(seen) {
		return err
	}
	return output.ExitWith(exitFree)
}

// print prints locks to standard output.
func (p *operator) print(seen []view.Lock, format string) error {
	style := p.style(format == "wide")
	switch {
	case format == "json":
		return output.JSON(p.env.Out, view.NewReport(known.RedactText(p.opt.Backend), seen, p.env.Now()))
	case p.opt.Lock != "":
		return style.Detail(p.env.Out, seen)
	case len(seen) == 0:
		p.env.Console.Info("there are no locks")
		return nil
	}
	return style.Table(p.env.Out, seen)
}
