package cmd

import (
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/locks"
)

// A backend is what a user should know of one before choosing it.
type backend struct {
	scheme   string
	liveness string // what ends the lock of a holder that vanished
	token    string // where the fencing token comes from
	order    string // who of those waiting is next
	told     string // how a waiter learns that it is its turn
	limits   string
}

// known are the backends of this version.
var known = []backend{
	{"file", "the process lives", "a counter in the lock file", "first come, mostly", "flock(2) wakes it", "one machine; no network file system"},
	{"etcd", "a lease", "create revision", "first come", "a watch", "ttl in whole seconds, 2s or more"},
	{"gcs", "a lease", "a counter in the object", "nobody in particular", "looking every 2s", "ttl of 5s or more; an eviction is noticed by the next renewal"},
	{"zk", "a session", "czxid", "first come; with mode=unfair whoever is quickest", "a watch", "ttl from 2 to 20 of the server's ticks"},
}

// knownHelpers returns the schemes of the backends that exist as helper
// programs of this version.
func knownHelpers() []string {
	var schemes []string
	for _, b := range known {
		if b.scheme != "file" {
			schemes = append(schemes, b.scheme)
		}
	}
	return schemes
}

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
	for _, b := range known {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", b.scheme, p.installed(b.scheme), b.liveness, b.token, b.order, b.told, b.limits)
	}
	for _, scheme := range p.others() {
		fmt.Fprintf(w, "%s\t%s\t?\t?\t?\t?\tnot part of leaderrun\n", scheme, p.installed(scheme))
	}
	return w.Flush()
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
		if !slices.ContainsFunc(known, func(b backend) bool { return b.scheme == found.Scheme }) {
			schemes = append(schemes, found.Scheme)
		}
	}
	return schemes
}
