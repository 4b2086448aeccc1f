package operate

import (
	"context"
	"fmt"
	"slices"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// exitFree is the exit status of leaderrun status if no lock is held.
const exitFree = 1

func statusCommand(e *env.Env) *options.Command {
	return define(e, "status", "show who holds a lock, or all locks; exit with 0 if one is held, 1 if not", func(p *operator) ([]options.Option, func(*options.Invocation) error) {
		var all bool
		var format options.Choice
		return []options.Option{
			p.opt.As("lock", "`NAME` of the lock (default: all)"),
			allOption(&all),
			options.Format(&format, "table", "print as `FORMAT`: table, wide or json", "table", "wide", "json"),
		}, func(*options.Invocation) error { return p.status(all, format.Value) }
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
	if err := v.print(seen, format); err != nil || !free(seen) {
		return err
	}
	return output.ExitWith(exitFree)
}

// print prints locks to standard output. Beside a table, the store is for people, and programs
// may read the table, so it goes to standard error.
func (v *visit) print(seen []view.Lock, format string) error {
	style, where := v.style(format == "wide"), v.where()
	if i := slices.IndexFunc(seen, func(l view.Lock) bool { return l.Unknown }); i >= 0 && known.Keeps(v.backend.Scheme) {
		seen[i].Odd = append(seen[i].Odd, fmt.Sprintf("no record of a lock %s in %s", seen[i].Name, where))
	}
	switch {
	case format == "json":
		return output.JSON(v.env.Out, view.NewReport(known.RedactText(v.opt.Backend), where, seen, v.env.Now()))
	case v.opt.Lock != "":
		return style.Detail(v.env.Out, seen, where)
	case len(seen) == 0:
		v.env.Console.Note("no locks in " + where)
		return nil
	}
	v.env.Console.Note("locks in " + where + ":")
	v.env.Console.Drain() // the table follows
	return style.Table(v.env.Out, seen)
}
