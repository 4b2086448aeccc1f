// Package known describes the backends of this version, one per file, which has the name of
// the backend's folder. Everything that names every backend ranges over the list of them. What
// cannot, because it is not Go or links what must not be linked here, is compared with the list
// by the tests of package places.
//
// A description has what programs compare, count or complete, and phrases of tables. Documents
// have the rest: why to choose the backend, its limits, its section of the manual. The data stay
// true, because programs run on them: the parser of URLs takes parameters and port from them,
// --scrub-env takes the secrets, and the conformance suite expects exactly these abilities.
// backendtest.Settings checks which variables a backend reads.
package known

import (
	"net/url"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// backends are in the order in which to try them.
var backends = [...]*backend.Info{
	&File,
	&Etcd,
	&ZooKeeper,
	&Postgres,
	&MySQL,
	&Consul,
	&Kubernetes,
	&Spanner,
	&GCS,
	&Azblob,
	&Quorum,
	&Gossip,
}

// Backends returns all backends, in the order in which a user should consider them.
func Backends() []*backend.Info { return slices.Clone(backends[:]) }

// Find returns the backend with a scheme, or nil.
func Find(scheme string) *backend.Info {
	for _, b := range backends {
		if b.Scheme == scheme {
			return b
		}
	}
	return nil
}

// Schemes returns the schemes of all backends.
func Schemes() []string {
	var schemes []string
	for _, b := range backends {
		schemes = append(schemes, b.Scheme)
	}
	return schemes
}

// Queues names the backends whose locks know their waiters, in order and with priorities.
func Queues() string {
	var names []string
	for _, b := range backends {
		if b.Can(locks.CanQueue) {
			names = append(names, strings.TrimSpace(b.Scheme+" "+b.QueueOnly))
		}
	}
	return strings.Join(names, "; ")
}

// Keeps reports whether the backend with a scheme lists each lock that was once held.
func Keeps(scheme string) bool {
	b := Find(scheme)
	return b != nil && b.Keeps
}

// Helpers returns the schemes of the backends that are helper programs.
func Helpers() []string {
	var schemes []string
	for _, b := range backends {
		if !b.BuiltIn {
			schemes = append(schemes, b.Scheme)
		}
	}
	return schemes
}

// Redact returns the URL of a backend as a text that is safe to show and log: without the
// password, and without the values of parameters that are not described. No described
// parameter has a secret. Of a backend that is not ours we know no parameter.
func Redact(u *url.URL) string {
	return locks.RedactParams(u, func(param string) bool { return unknown(u.Scheme, param) })
}

// RedactText is like Redact for what a user has given as a backend, which may be no URL.
func RedactText(s string) string { return locks.RedactBackend(s, unknown) }

func unknown(scheme, param string) bool {
	b := Find(scheme)
	return b == nil || !slices.ContainsFunc(b.Params, func(p backend.Param) bool { return p.Name == param })
}
