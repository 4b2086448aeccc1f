//go:build bundle

package cmd

import (
	"github.com/leaderrun/leaderrun/locks"
	// generated: imports
	"github.com/leaderrun/leaderrun/locks/backend/azblob"
	"github.com/leaderrun/leaderrun/locks/backend/consul"
	"github.com/leaderrun/leaderrun/locks/backend/etcd"
	"github.com/leaderrun/leaderrun/locks/backend/gcs"
	"github.com/leaderrun/leaderrun/locks/backend/gossip"
	"github.com/leaderrun/leaderrun/locks/backend/kubernetes"
	"github.com/leaderrun/leaderrun/locks/backend/mysql"
	"github.com/leaderrun/leaderrun/locks/backend/postgres"
	"github.com/leaderrun/leaderrun/locks/backend/quorum"
	"github.com/leaderrun/leaderrun/locks/backend/spanner"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper"
	// end generated
	"github.com/leaderrun/leaderrun/runner/monitor"
)

// linkedMonitor returns the main function of leaderrun-monitor.
func linkedMonitor() func(args []string) int { return monitor.Main }

// registerBundled links every backend into one file, for people who copy a single binary.
// Each backend makes it larger, and slower to start.
func registerBundled(r *locks.Registry) {
	// generated: backends
	r.Register("azblob", azblob.Open)
	r.Register("consul", consul.Open)
	r.Register("etcd", etcd.Open)
	r.Register("gcs", gcs.Open)
	r.Register("gossip", gossip.Open)
	r.Register("k8s", kubernetes.Open)
	r.Register("mysql", mysql.Open)
	r.Register("postgres", postgres.Open)
	r.Register("quorum", quorum.Open)
	r.Register("spanner", spanner.Open)
	r.Register("zk", zookeeper.Open)
	// end generated
}
