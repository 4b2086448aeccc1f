package faults

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
)

// A plan describes a cell.
type plan struct {
	name    string
	backend string // and its mode, for the report
	mode    string
	store   func(*testing.T, plan) *store
	hosts   int // 0: machines
	// strict makes holders wait until the previous lease has ended, if it was not
	// released. Without it, no fault ends a lease early: the lock would be free at once,
	// and its holder would learn of that no sooner than the next one.
	strict bool
	// drains is set if all jobs take up to 20 s to end when they are asked to, under a longer lease.
	drains bool
	ranked bool // all runs have priorities
	unfair bool
	slots  int  // 0: the lock has none
	crowds bool // many runs start at once: one cell of each kind of recipe bears that
	// once is the WINDOW of --once-per; "": jobs run whatever has run before.
	once string
	// excludes is whom the mode excludes, if that is not everybody: the report shows what it
	// does, and no violation fails the suite.
	excludes string
	peer     *peer // run instead of leaderrun; nil for leaderrun
	// contender is run instead of leaderrun on the first host. Each must exclude the other.
	contender *peer
	// rests is how many times as long the pauses between faults are; 0: once. consul lock waits
	// after each loss for 15 s, and otherwise holds the lock too rarely to show anything.
	rests int
}

// ttl is the lease that is asked for.
func (p plan) ttl() time.Duration {
	if p.drains {
		return 2 * ttl
	}
	return ttl
}

// machines is how many hosts contend.
func (p plan) machines() int { return cmp.Or(p.hosts, machines) }

// shown reports whether the report only shows what happens.
func (p plan) shown() bool { return p.peer != nil || p.excludes != "" }

// onceShort are windows in which most jobs end. The zone is that of labels.
const onceShort = "CRON_TZ=UTC 10s"

// plans are all plans.
func plans() []plan {
	all := []plan{
		{name: "file", backend: "file", store: fileStore, crowds: true},
		{name: "file-flock", backend: "file", mode: "with flock", store: flockStore, contender: &flock},
		{name: "etcd", backend: "etcd", store: etcdSingle, crowds: true},
		{name: "etcd-strict", backend: "etcd", mode: "three members, strict", store: etcdCluster, strict: true},
		{name: "etcd-slots", backend: "etcd", mode: "two slots", store: etcdSingle, slots: 2},
		{name: "etcd-drain", backend: "etcd", mode: "leases of 10 s, drains of 20 s", store: etcdSingle, drains: true, rests: 6},
		{name: "etcd-once", backend: "etcd", mode: "once per 10 s", store: etcdSingle, once: onceShort},
		{name: "etcd-priority", backend: "etcd", mode: "priorities, five hosts", store: etcdSingle, ranked: true, hosts: 5, rests: 5},
		{name: "zookeeper", backend: "zookeeper", mode: "three members", store: zkEnsemble},
		{name: "zookeeper-unfair", backend: "zookeeper", mode: "unfair", store: zkSingle, unfair: true},
		{name: "zookeeper-strict", backend: "zookeeper", mode: "strict", store: zkSingle, strict: true},
		{name: "zookeeper-priority", backend: "zookeeper", mode: "priorities, five hosts", store: zkSingle, ranked: true, hosts: 5, rests: 5},
		{name: "gcs", backend: "gcs", store: gcsStore},
		{name: "gcs-strict", backend: "gcs", mode: "strict", store: gcsStore, strict: true},
		{name: "azblob", backend: "azblob", store: azblobStore},
		{name: "azblob-strict", backend: "azblob", mode: "strict", store: azblobStore, strict: true},
		{name: "consul", backend: "consul", store: consulSingle},
		{name: "consul-strict", backend: "consul", mode: "three servers, strict", store: consulCluster, strict: true},
		{name: "consul-agents", backend: "consul", mode: "an agent for each host", store: consulAgents},
		{name: "consul-compat", backend: "consul", mode: "with consul lock", store: consulCompat, contender: &consulLock, rests: 5},
		{name: "kubernetes", backend: "kubernetes", store: kubernetesStore},
		{name: "kubernetes-elector", backend: "kubernetes", mode: "with a client-go elector", store: electorStore, contender: &elector},
		{name: "kubernetes-strict", backend: "kubernetes", mode: "strict", store: kubernetesStore, strict: true},
		{name: "gossip-oldest", backend: "gossip", mode: "the oldest leads", store: gossipOldest, excludes: "nobody"},
		{name: "quorum", backend: "quorum", store: quorumStore, crowds: true},
		{name: "quorum-five", backend: "quorum", mode: "five hosts", store: quorumStore, hosts: 5},
		{name: "mysql", backend: "mysql", store: mysqlStore},
		{name: "mysql-strict", backend: "mysql", mode: "strict", store: mysqlStore, strict: true},
		{name: "postgres", backend: "postgres", store: postgresStore, crowds: true},
		{name: "postgres-slots", backend: "postgres", mode: "two slots", store: postgresStore, slots: 2},
		{name: "postgres-pooler", backend: "postgres", mode: "behind a pooler", store: postgresPooled},
		{name: "postgres-once", backend: "postgres", mode: "once per 10 s", store: postgresStore, once: onceShort},
		{name: "postgres-strict", backend: "postgres", mode: "strict", store: postgresStore, strict: true},
		{name: "postgres-failover", backend: "postgres", mode: "an asynchronous standby", store: postgresPair, excludes: "nobody after a failover"},
		{name: "spanner", backend: "spanner", store: spannerStore},
		{name: "spanner-strict", backend: "spanner", mode: "strict", store: spannerStore, strict: true},
	}
	for _, p := range peers() {
		all = append(all, plan{name: p.name, backend: p.backend, store: p.store, peer: &p, rests: p.rests})
	}
	return all
}

// A store is where a cell's lock is kept.
type store struct {
	servers []string                      // "address:port"; empty if there are none
	env     func(addrs []string) []string // names the store, with the servers at these addresses
	faults  []fault                       // faults of the store
	http    bool                          // the servers speak HTTP/1.1
	several bool                          // a run may name several addresses of one server
	named   bool                          // a run may name the first server by a name that has several addresses
	own     bool                          // each host names only one server, which is its own
	members bool                          // the hosts are the servers, of each other
	least   time.Duration                 // the shortest lease that it grants; 0: any
	begin   func(*cell)                   // starts what runs on the hosts themselves; may be nil
}

// leases reports whether a lock ends if it is not renewed.
func (s *store) leases() bool { return len(s.servers) > 0 || s.members }

// lockName is the name of a cell's only lock.
const lockName = "faults"

func fileStore(t *testing.T, _ plan) *store {
	dir := t.TempDir()
	return &store{env: func([]string) []string { return []string{"LEADERRUN_BACKEND=file://" + dir} }}
}

func etcdSingle(t *testing.T, p plan) *store {
	return etcdStore(t, etcdtest.Cluster{etcdtest.Start(t, etcdtest.Options{})}, nil, p)
}

func etcdCluster(t *testing.T, p plan) *store {
	l := newLinks(t, 3)
	return etcdStore(t, etcdtest.StartCluster(t, 3, etcdtest.Options{Args: []string{"--bcrypt-cost=4"}, Places: l.places()}), l, p)
}

func zkSingle(t *testing.T, p plan) *store {
	return zkStore(zktest.Ensemble{zktest.Start(t, zktest.Options{})}, nil, p)
}

func zkEnsemble(t *testing.T, p plan) *store {
	l := newLinks(t, 3)
	return zkStore(zktest.StartEnsemble(t, 3, zktest.Options{Places: l.places()}), l, p)
}

func gcsStore(t *testing.T, p plan) *store {
	s := gcstest.Start(t)
	return &store{
		servers: []string{s.Addr()}, http: true, named: true,
		env: func(addrs []string) []string {
			return []string{"LEADERRUN_BACKEND=gcs://" + gcstest.Bucket + "/faults", "STORAGE_EMULATOR_HOST=" + addrs[0]}
		},
		faults: gcsFaults(s, p.strict),
	}
}

// backend names servers to leaderrun.
func backend(scheme string, addrs []string, rest string) []string {
	return []string{"LEADERRUN_BACKEND=" + scheme + "://" + strings.Join(addrs, ",") + rest}
}
