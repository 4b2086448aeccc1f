package cmd

import (
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/locks"
)

// A Backend is what a user should know of one before choosing it.
type Backend struct {
	Scheme      string
	URL         string // what --backend takes
	Liveness    string // what ends the lock of a holder that vanished
	Token       string // where the fencing token comes from
	Order       string // who of those waiting is next
	Told        string // how a waiter learns that it is its turn
	Permissions string // what a run needs to be allowed
	Limits      string
	Price       string // what a lock costs
}

// known are the backends of this version. The command backends shows those of the
// fields that fit a terminal, the manual page all.
var known = []Backend{
	{
		Scheme: "file", URL: "file:///dir",
		Liveness: "the process lives", Token: "a counter in the lock file",
		Order: "first come, mostly", Told: "flock(2) wakes it",
		Permissions: "to read and write a directory that belongs to you or root, and that nobody else can write",
		Limits:      "one machine; no network file system",
		Price:       "12 KiB of disk for each lock that was ever used, until leaderrun forget",
	},
	{
		Scheme: "etcd", URL: "etcd://host:2379,host:2379/prefix",
		Liveness: "a lease", Token: "create revision",
		Order: "first come", Told: "a watch",
		Permissions: "with etcd's authentication on, to read and write all keys under the prefix",
		Limits:      "ttl in whole seconds, 2s or more",
		Price:       "two requests for each renewal",
	},
	{
		Scheme: "gcs", URL: "gcs://bucket/prefix",
		Liveness: "a lease", Token: "a counter in the object",
		Order: "nobody in particular", Told: "looking every 2s",
		Permissions: "storage.objects.create, get, list and update, as in roles/storage.objectUser",
		Limits:      "ttl of 5s or more; an eviction is noticed by the next renewal",
		Price:       "with a ttl of 15s about $4.65 a month for a lock that is held, $4.30 with --no-resign, and $0.52 for each who waits (single region, class Standard, 2025)",
	},
	{
		Scheme: "zk", URL: "zk://host:2181,host:2181/chroot",
		Liveness: "a session", Token: "czxid",
		Order: "first come; with mode=unfair whoever is quickest", Told: "a watch",
		Permissions: "to create, read, write and delete on the chroot, or, if that is missing, on the node above; all contenders need the same user",
		Limits:      "ttl from 2 to 20 of the server's ticks",
		Price:       "a connection and a write of some 100 bytes for each renewal",
	},
}

// knownHelpers returns the schemes of the backends that exist as helper
// programs of this version.
func knownHelpers() []string {
	var schemes []string
	for _, b := range known {
		if b.Scheme != "file" {
			schemes = append(schemes, b.Scheme)
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", b.Scheme, p.installed(b.Scheme), b.Liveness, b.Token, b.Order, b.Told, b.Limits)
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
		if !slices.ContainsFunc(known, func(b Backend) bool { return b.Scheme == found.Scheme }) {
			schemes = append(schemes, found.Scheme)
		}
	}
	return schemes
}
