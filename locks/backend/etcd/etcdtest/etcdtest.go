// Package etcdtest runs real etcd servers for tests and benchmarks, with fresh
// directories.
package etcdtest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// Versions returns the release lines of etcd that leaderrun is tested with, the
// newest first.
func Versions() []string { return []string{"3.7", "3.6", "3.5", "3.4"} }

// release returns the directory of a release line in the cache.
func release(version string) string {
	switch version {
	case "3.7":
		return "etcd-v3.7.3"
	case "3.6":
		return "etcd-v3.6.16"
	case "3.5":
		return "etcd-v3.5.35"
	default:
		return "etcd-v" + version
	}
}

// Options say what kind of server to run. The zero value means the newest version, without
// TLS.
type Options struct {
	Version string   // one of Versions; "" is the newest
	TLS     *TLS     // nil: plain TCP
	Args    []string // further arguments of etcd
	// Slow keeps etcd's own election timeout and fsync. The shortest lease is
	// then 2 s, and 1 s otherwise.
	Slow bool
	// Places are where the members run, one for each; nil: on loopback.
	Places []realserver.Place
}

// TLS names the files of a server that speaks TLS.
type TLS struct {
	CertFile, KeyFile string
	ClientCAFile      string // if set, clients must show a certificate signed by it
}

// Start runs a single server.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	return StartCluster(tb, 1, o)[0]
}

// StartCluster runs a cluster of n members.
func StartCluster(tb testing.TB, n int, o Options) Cluster {
	tb.Helper()
	bin := Binary(tb, o.Version, "etcd")
	c := make(Cluster, n)
	var initial []string
	for i := range c {
		c[i] = newServer(tb, i+1, o)
		initial = append(initial, c[i].name+"="+c[i].peerURL())
	}
	for _, s := range c {
		s.launch(bin, s.arguments(strings.Join(initial, ","), n))
	}
	for _, s := range c {
		s.WaitReady()
	}
	return c
}

func newServer(tb testing.TB, i int, o Options) *Server {
	place := realserver.Place{}
	if o.Places != nil {
		place = o.Places[i-1]
	}
	return &Server{tb: tb, o: o, name: fmt.Sprintf("m%d", i), dir: tb.TempDir(), place: place,
		client: realserver.FreePort(tb), peer: realserver.FreePort(tb), metrics: realserver.FreePort(tb)}
}

func (s *Server) launch(bin string, args []string) {
	s.process = &realserver.Process{
		TB: s.tb, Path: bin, Args: args, Place: s.place, LogFile: filepath.Join(s.dir, "log"),
		Env: []string{"HOME=" + s.dir}, // without our ETCD_…
	}
	s.process.Start()
}

// Binary returns the path of a program ("etcd", "etcdctl") of a version. If it is missing,
// Binary skips the test, or fails it if CI=true.
func Binary(tb testing.TB, version, program string) string {
	tb.Helper()
	return realserver.Installed(tb, release(cmp.Or(version, Versions()[0])), program)
}
