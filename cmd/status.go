package cmd

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
)

// exitFree is the exit status of status if nobody holds the lock.
const exitFree = 1

func (p *program) statusCommand() *cli.Command {
	o := newOptions()
	var all bool
	format := choice{"table", []string{"table", "wide", "json"}}
	return &cli.Command{
		Name:  "status",
		Usage: "tell who holds a lock, or all locks; exit status 0 if one is held, 1 if not",
		Flags: operatorFlags(o,
			lockFlag(o, "`NAME` of the lock (default: all)"),
			allFlag(&all),
			&cli.GenericFlag{Name: "output", Aliases: []string{"o"}, Category: "Output", Value: &format, DefaultText: "table",
				Usage: "print as `FORMAT`: table, wide or json"},
		),
		Action: func(ctx *cli.Context) error {
			if err := noArguments(ctx); err != nil {
				return err
			}
			return p.showStatus(o, all, format.value)
		},
	}
}

func allFlag(all *bool) cli.Flag {
	return &cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Category: "Which lock", Destination: all,
		Usage: "all locks under the prefix of the backend's URL"}
}

func (p *program) showStatus(o *options, all bool, format string) error {
	if all && p.isGiven("lock") {
		return errOneOrAll
	}
	v, err := p.see(o, all, "leaderrun status")
	if err != nil {
		return err
	}
	defer v.close()
	seen, err := v.store().Look(context.Background())
	if err != nil {
		return output.Explain(o.lock, err)
	}
	if err := p.print(o, seen, format); err != nil || slices.ContainsFunc(seen, func(l view.Lock) bool { return l.Held }) {
		return err
	}
	return &output.Exit{Status: exitFree}
}

// print writes locks to standard output.
func (p *program) print(o *options, seen []view.Lock, format string) error {
	style := p.style(format == "wide")
	switch {
	case format == "json":
		return output.JSON(p.out, view.NewReport(locks.RedactText(o.backend), seen, p.Now()))
	case o.lock != "":
		return style.Detail(p.out, seen)
	case len(seen) == 0:
		p.term.Info("there are no locks")
		return nil
	}
	return style.Table(p.out, seen)
}
