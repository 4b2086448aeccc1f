// Package backend describes backends: what all that speaks of one, or offers one to a
// user, has to know of it. A description is data and links no SDK, so that leaderrun
// itself can have that of each backend, whose helper program may not even be installed.
//
// Each backend has its description in its own folder, as in package etcdinfo, and the
// backend itself takes from there what it heeds. Package known lists all of them.
package backend

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// An Info describes a backend. Nobody changes one.
type Info struct {
	Scheme  string // of its URLs; also ends the names of its helper program and package
	Product string // what keeps the locks, as its makers spell it; "" for file
	Folder  string // that of its Go package, in locks
	BuiltIn bool   // it needs no helper program

	// Facts that a user compares, as phrases.
	URL         string // what --backend takes
	HeldUntil   string // what ends the lock of a holder that does not release it
	Token       string // what the fencing token is
	Order       string // the order in which waiters get the lock
	NotifiedBy  string // how a waiter learns that the lock is free
	Permissions string // what a run must be allowed to do
	Limits      string
	Cost        string // what a lock costs

	Port      string     // of a host without one; "": there are no ports
	Params    []Param    // those of its URLs, by name
	Variables []Variable // those of the environment that it heeds

	// Abilities are those of its locks, in the mode and on the system that has most.
	Abilities []locks.Ability
	// QueueOnly says where not all locks can queue: "in its fair mode".
	QueueOnly string

	// Spacing is the least time between two writes to one lock, for a service that takes
	// only so many.
	Spacing time.Duration
}

// A Param is a parameter of a URL.
type Param struct {
	Name  string
	Usage string   // a phrase
	Words []string // those that it takes; nil: it takes other things
	About About
}

// A Variable is one of the environment.
type Variable struct {
	Name   string
	About  About
	Secret bool // --scrub-env keeps it from the job
	// Ambient: everybody has it, whether leaderrun is used or not.
	Ambient bool
	// SDK: the backend's library reads it, and not the backend.
	SDK bool
}

// About is what a setting is about.
type About int

const (
	// Store: which store, or which place in it, or how to get there. Two that differ
	// in it may be two stores.
	Store About = iota
	// Address is a Store that names the server, bucket or directory.
	Address
	// User: who we are.
	User
	// Refusal: what is refused. It has no effect on what is not.
	Refusal
)

// where reports whether a setting may say which store it is.
func (a About) where() bool { return a == Store || a == Address }

// Program returns the name of the helper program, which is also that of its package.
func (i *Info) Program() string { return "leaderrun-" + i.Scheme }

// CheckParams is [locks.CheckParams] with the parameters that are described.
func (i *Info) CheckParams(u *url.URL) error {
	var names []string
	for _, p := range i.Params {
		names = append(names, p.Name)
	}
	return locks.CheckParams(u, names...)
}

// CheckURL returns an ErrUsage if a URL is not of the form scheme://…, if it has a part after
// #, or for its parameters.
func (i *Info) CheckURL(u *url.URL) error {
	switch {
	case u.Opaque != "":
		return locks.Usagef("%s URL: write %s, with two slashes", i.Scheme, i.URL)
	case u.Fragment != "":
		return locks.Usagef("%s URL: there is a part after #", i.Scheme)
	}
	return i.CheckParams(u)
}

// Secrets are the variables with credentials. It is what a [locks.SecretReader] returns.
func (i *Info) Secrets() []string {
	return i.variables(func(v Variable) bool { return v.Secret })
}

// Heeded are the variables that say where a store is and who we are, but for those
// that everybody has.
func (i *Info) Heeded() []string {
	return i.variables(func(v Variable) bool { return !v.Ambient })
}

// Addresses are the variables that name the store when the URL does not.
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

// SaysWhere reports whether a variable may say in which store the locks are. One that
// begins with LEADERRUN_SCHEME_ may, unless it is known to be about something else.
func (i *Info) SaysWhere(variable string) bool {
	for _, v := range i.Variables {
		if v.Name == variable {
			return v.About.where()
		}
	}
	return strings.HasPrefix(variable, "LEADERRUN_"+strings.ToUpper(i.Scheme)+"_")
}

// Where returns a URL without the parameters that cannot say in which store the locks
// are. Those that nobody knows stay.
func (i *Info) Where(u *url.URL) *url.URL {
	at := *u
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return &at // it is none, and will be refused
	}
	for _, p := range i.Params {
		if !p.About.where() {
			query.Del(p.Name)
		}
	}
	at.RawQuery = query.Encode()
	return &at
}

// Can reports whether its locks have an ability, in some mode and on some system.
func (i *Info) Can(a locks.Ability) bool { return slices.Contains(i.Abilities, a) }
