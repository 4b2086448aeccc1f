package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

func (p *program) backendsCommand() *cli.Command {
	return &cli.Command{
		Name:  "backends",
		Usage: "list the systems that can keep locks, and which are installed",
		Action: func(ctx *cli.Context) error {
			if err := noArguments(ctx); err != nil {
				return err
			}
			return p.backends()
		},
	}
}

func (p *program) backends() error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SCHEME\tINSTALLED\tHELD WHILE\tTOKEN\tNEXT\tTOLD BY\tLIMITS")
	for _, b := range byScheme() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", b.Scheme, p.installed(b.Scheme), b.Liveness, b.Token, b.Order, b.Told, b.Limits)
	}
	for _, scheme := range p.others() {
		fmt.Fprintf(w, "%s\t%s\t?\t?\t?\t?\tnot part of leaderrun\n", scheme, p.installed(scheme))
	}
	return w.Flush()
}

// byScheme returns the backends of this version, those first that are built in.
func byScheme() []*backend.Info {
	order := func(b *backend.Info) string {
		if b.BuiltIn {
			return ""
		}
		return b.Scheme
	}
	all := known.Backends()
	slices.SortFunc(all, func(a, b *backend.Info) int { return strings.Compare(order(a), order(b)) })
	return all
}

// installed says where a backend is, or why it cannot be used.
func (p *program) installed(scheme string) string {
	if slices.Contains(p.Registry.Schemes(), scheme) {
		return "built in"
	}
	path, err := p.Programs.Find(scheme)
	switch {
	case err == nil:
		return path
	case errors.Is(err, locks.ErrDenied):
		return "refused"
	}
	return "no"
}

// others are the schemes of installed helpers that are not part of leaderrun.
func (p *program) others() []string {
	var schemes []string
	for _, found := range p.Programs.List() {
		if known.Find(found.Scheme) == nil {
			schemes = append(schemes, found.Scheme)
		}
	}
	return schemes
}
