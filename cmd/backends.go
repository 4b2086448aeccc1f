package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

func backendsCommand(e *env.Env) *options.Command {
	return &options.Command{
		Name:  "backends",
		Usage: "list the systems that can keep locks, and which are installed",
		Define: func() ([]options.Option, func(*options.Invocation) error) {
			return nil, func(*options.Invocation) error { return printBackends(e) }
		},
	}
}

func printBackends(e *env.Env) error {
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SCHEME\tINSTALLED\tHELD UNTIL\tTOKEN\tORDER\tNOTIFIED BY\tLIMITS")
	for _, b := range byScheme() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", b.Scheme, installed(e, b.Scheme), b.HeldUntil, b.Token, b.Order, b.NotifiedBy, b.Limits)
	}
	for _, scheme := range others(e) {
		fmt.Fprintf(w, "%s\t%s\t?\t?\t?\t?\tnot part of leaderrun\n", scheme, installed(e, scheme))
	}
	return w.Flush()
}

// byScheme returns the backends of this version, the built-in one first.
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

// installed says where a backend's program is, or why it cannot be used.
func installed(e *env.Env, scheme string) string {
	path, err := e.Helper(scheme)
	switch {
	case err == nil && path == "":
		return "built in"
	case err == nil:
		return path
	case errors.Is(err, locks.ErrDenied):
		return "refused"
	}
	return "no"
}

// others returns the schemes of installed helpers that are not part of leaderrun.
func others(e *env.Env) []string {
	var schemes []string
	for _, found := range e.Programs.List() {
		if known.Find(found.Scheme) == nil {
			schemes = append(schemes, found.Scheme)
		}
	}
	return schemes
}
