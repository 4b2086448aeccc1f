// Package known lists the backends of this version. All that names every backend ranges
// over it; what cannot, as it is no Go or links what is not to be linked here, is held
// against it by the tests of package places.
package known

import (
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdinfo"
	"github.com/leaderrun/leaderrun/locks/backend/file/fileinfo"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcsinfo"
	"github.com/leaderrun/leaderrun/locks/backend/postgres/postgresinfo"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zkinfo"
)

// backends are in the order in which to try them.
var backends = [...]*backend.Info{
	&fileinfo.Info,
	&etcdinfo.Info,
	&zkinfo.Info,
	&gcsinfo.Info,
	&postgresinfo.Info,
}

// Backends returns all of them, those first that are to be considered first.
func Backends() []*backend.Info { return slices.Clone(backends[:]) }

// Find returns one by its scheme, or nil.
func Find(scheme string) *backend.Info {
	for _, b := range backends {
		if b.Scheme == scheme {
			return b
		}
	}
	return nil
}

// Schemes returns those of all backends.
func Schemes() []string {
	var schemes []string
	for _, b := range backends {
		schemes = append(schemes, b.Scheme)
	}
	return schemes
}

// Queues names the backends whose locks know who waits, in order and with priorities.
func Queues() string {
	var names []string
	for _, b := range backends {
		if b.Can(locks.CanQueue) {
			names = append(names, strings.TrimSpace(b.Scheme+" "+b.QueueOnly))
		}
	}
	return strings.Join(names, "; ")
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
