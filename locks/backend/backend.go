// Package backend describes backends, for all code that mentions a backend or offers one
// to a user. A description is data and links no SDK, so leaderrun itself can contain the
// descriptions of all backends, even of those whose helper programs are not installed.
//
// The descriptions are in package known. A backend reads from its own what it needs itself.
// This is a package of its own because whatever deals with all backends is tested with
// descriptions that are not in known.
package backend

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// An Info describes a backend. It must not be modified.
type Info struct {
	Scheme  string // of its URLs; also the end of the names of its helper program and package
	Product string // the system that keeps the locks, as its makers spell it; "" for file
	Folder  string // of its Go package, in locks/backend
	BuiltIn bool   // needs no helper program
	Unit    string // a systemd unit that belongs into the package, in the folder of the program; "": none

	// Facts for users to compare, as phrases.
	URL         string // what --backend takes
	HeldUntil   string // what ends the lock of a holder that does not release it
	Takeover    string // when another gets the lock after a crash of the holder's machine
	Token       string // what the fencing token is
	Order       string // the order in which waiters get the lock
	NotifiedBy  string // how a waiter learns that the lock is free
	Learns      string // when a holder learns of a request to resign, and that its lock was taken away
	Needs       string // what there must be
	Permissions string // what a run must be allowed to do
	Limits      string
	Cost        string // what a lock costs

	Port      string     // the default port; "" if there are no ports
	Params    []Param    // of its URLs, by name
	Variables []Variable // environment variables that it reads
	Refused   []Refused  // those of the store's own tools that it does not support

	// Abilities are those of its locks, in the mode and on the system that have the most.
	Abilities []locks.Ability
	// QueueOnly says in which case locks can queue, if not all can: "in its fair mode".
	QueueOnly string

	// ExcludesNobody is set if two may hold a lock at once, which its facts say.
	ExcludesNobody bool

	// Keeps says that a lock that was once held is listed for ever, unless it is forgotten.
	Keeps bool

	// Spacing is the least time between two writes to one lock, for a service that limits
	// them.
	Spacing time.Duration
	// NoLease is set if locks last as long as a process of the holder's: a ttl means nothing.
	NoLease bool
	// MinTTL is the shortest lease that the service grants, unless it is set up otherwise.
	MinTTL time.Duration
}

// A Param is a parameter of a URL.
type Param struct {
	Name  string
	Usage string   // a phrase
	Words []string // the accepted words; nil if it takes other values
	About About
}

// A Variable is an environment variable.
type Variable struct {
	Name   string
	About  About
	Secret bool // --scrub-env removes it from the job's environment
	// Ambient is set for variables that exist whether leaderrun is used or not.
	Ambient bool
	// SDK is set if the backend's library reads the variable, not the backend itself.
	SDK bool
}

// A Refused is an environment variable that the backend does not support. If it were ignored,
// we would use another server, another user, or less of TLS than the store's own tools.
type Refused struct {
	Name    string
	Instead string // what to do: "set X"

	// When it does not matter.
	Except []string // values that mean what we do anyway
	Unless string   // a variable or parameter that goes before it; "host": that of the URL
	File   string   // that the directory which it names lacks; "": it names none
}

// About says what a setting is about.
type About int

const (
	// Store: which store, or which place in it, or how to reach it. If two settings
	// differ in it, they may mean two stores.
	Store About = iota
	// Address is like Store, for a setting that names the server, bucket or directory.
	Address
	// User: who we are.
	User
	// Refusal: what to refuse. It has no effect on anything else.
	Refusal
)

// where reports whether a setting may determine the store.
func (a About) where() bool { return a == Store || a == Address }

// Program returns the name of the helper program, which is also the name of its package.
func (i *Info) Program() string { return "leaderrun-" + i.Scheme }

// CheckParams is [locks.CheckParams] with the described parameters.
func (i *Info) CheckParams(u *url.URL) error {
	var names []string
	for _, p := range i.Params {
		names = append(names, p.Name)
	}
	return locks.CheckParams(u, names...)
}

// CheckURL returns an ErrUsage if a URL is not of the form scheme://…, has a part after
// #, or has wrong parameters. With one slash, what is meant as the host would be the path.
func (i *Info) CheckURL(u *url.URL) error {
	switch {
	case u.Opaque != "", u.OmitHost:
		return locks.Usagef("%s URL: write %s, with two slashes", i.Scheme, i.URL)
	case u.Fragment != "":
		return locks.Usagef("%s URL: it has a part after #", i.Scheme)
	}
	return i.CheckParams(u)
}

// CheckVariables returns an ErrUsage for a variable that is set and not supported.
func (i *Info) CheckVariables(u *url.URL, getenv func(string) string) error {
	for _, r := range i.Refused {
		value := getenv(r.Name)
		if value == "" || slices.Contains(r.Except, value) || r.Unless != "" && getenv(r.Unless)+u.Query().Get(r.Unless) != "" || r.Unless == "host" && u.Host != "" {
			continue
		}
		if r.File != "" {
			if _, err := os.Stat(filepath.Join(value, r.File)); err != nil {
				continue
			}
		}
		return locks.Usagef("%s is set, but the backend %s does not support it: unset it, and %s", r.Name, i.Scheme, r.Instead)
	}
	return nil
}

// Secrets returns the variables with credentials, as for a [locks.SecretReader].
func (i *Info) Secrets() []string {
	return i.variables(func(v Variable) bool { return v.Secret })
}

// Heeded returns the variables that determine the store and who we are, except for the
// ambient ones.
func (i *Info) Heeded() []string {
	return i.variables(func(v Variable) bool { return !v.Ambient })
}

// Addresses returns the variables that name the store if the URL does not.
func (i *Info) Addresses() []string {
	return i.variables(func(v Variable) bool { return v.About == Address && !v.Ambient })
}

func (i *Info) variables(like func(Variable) bool) []string {
	var names []string
	for _, v := range i.Variables {
		if like(v) {
			names = append(names, v.Name)
		}
	}
	return names
}

// SaysWhere reports whether a variable may determine in which store the locks are. A
// variable that begins with LEADERRUN_SCHEME_ may, unless it is described otherwise.
func (i *Info) SaysWhere(variable string) bool {
	for _, v := range i.Variables {
		if v.Name == variable {
			return v.About.where()
		}
	}
	return strings.HasPrefix(variable, "LEADERRUN_"+strings.ToUpper(i.Scheme)+"_")
}

// Where returns a URL without the parameters that cannot determine in which store the
// locks are. It keeps unknown parameters.
func (i *Info) Where(u *url.URL) *url.URL {
	at := *u
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return &at // u is invalid and will be refused
	}
	for _, p := range i.Params {
		if !p.About.where() {
			query.Del(p.Name)
		}
	}
	at.RawQuery = query.Encode()
	return &at
}

// Can reports whether the backend's locks have an ability, in some mode and on some
// system.
func (i *Info) Can(a locks.Ability) bool { return slices.Contains(i.Abilities, a) }
