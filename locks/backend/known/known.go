// Package known lists the backends of this version. Everything that names every backend
// ranges over this list. What cannot, because it is not Go or links what must not be
// linked here, is compared with the list by the tests of package places.
package known

import (
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/azblob/azblobinfo"
	"github.com/leaderrun/leaderrun/locks/backend/consul/consulinfo"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdinfo"
	"github.com/leaderrun/leaderrun/locks/backend/file/fileinfo"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcsinfo"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/gossipinfo"
	"github.com/leaderrun/leaderrun/locks/backend/mysql/mysqlinfo"
	"github.com/leaderrun/leaderrun/locks/backend/postgres/postgresinfo"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/quoruminfo"
	"github.com/leaderrun/leaderrun/locks/backend/spanner/spannerinfo"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zkinfo"
)

// backends are in the order in which to try them.
var backends = [...]*backend.Info{
	&fileinfo.Info,
	&etcdinfo.Info,
	&zkinfo.Info,
	&gcsinfo.Info,
	&postgresinfo.Info,
	&mysqlinfo.Info,
	&consulinfo.Info,
	&azblobinfo.Info,
	&spannerinfo.Info,
	&quoruminfo.Info,
	&gossipinfo.Info,
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
