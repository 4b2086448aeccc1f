package testscripts

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/azblob/azblobtest"
	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/backend/kubernetes/kubetest"
	"github.com/leaderrun/leaderrun/locks/backend/mysql/mysqltest"
	"github.com/leaderrun/leaderrun/locks/backend/postgres/pgtest"
	"github.com/leaderrun/leaderrun/locks/backend/spanner/spannertest"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// servers are the servers of one script.
type servers struct {
	etcd *etcdtest.Server
	gcs  *gcstest.Server
	zk   *zktest.Server

	azblob   *azblobtest.Server
	consul   *consultest.Server
	k8s      *kubetest.Server
	mysql    *mysqltest.Server
	postgres *pgtest.Server
	quorum   *voters
	spanner  *spannertest.Database
	front    *spannertest.Front // of the server of spanner
	proxy    *faultproxy.Proxy
}

// A command is one of a script's own.
type command = func(*testscript.TestScript, bool, []string)

// serverCommands has a command for each backend, which starts its server.
func serverCommands() map[string]command {
	return map[string]command{
		"azblob":   cmdAzblob,
		"consul":   cmdConsul,
		"etcd":     cmdEtcd,
		"gcs":      cmdGCS,
		"k8s":      cmdKubernetes,
		"mysql":    cmdMySQL,
		"postgres": cmdPostgres,
		"quorum":   cmdQuorum,
		"gossip":   cmdGossip,
		"spanner":  cmdSpanner,
		"zk":       cmdZK,
	}
}

// cmdStore is the command
//
//	store [stop|start]
//
// of the script that runs with every backend. It starts a server of the script's own, as the
// command does that has the backend's name, stops it, or starts it again. $SCHEME is that name.
// $INTERVAL is how often leaderrun watch must look at a lock: hardly ever if the backend reports
// changes. $LONG is a ttl within which a server can be restarted.
func cmdStore(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) <= 1, "store [stop|start]")
	b := known.Find(worldOf(ts).suite.backend)
	server := serverCommands()[b.Scheme]
	if server == nil {
		ts.Fatalf("there is no command %s, which would start a server", b.Scheme)
	}
	if len(args) > 0 {
		server(ts, neg, args)
		return
	}
	switch b.Scheme {
	case "etcd", "zk":
		server(ts, neg, []string{"own"})
	case "quorum":
		server(ts, neg, []string{"6s"})
		server(ts, neg, []string{"start"})
		ts.Setenv("LEADERRUN_TTL", "4")
	case "spanner":
		server(ts, neg, nil)
		server(ts, neg, []string{"table"})
	default:
		server(ts, neg, nil)
	}
	ts.Setenv("SCHEME", b.Scheme)
	ts.Setenv("LONG", "1m")
	if b.Scheme == "quorum" {
		ts.Setenv("LONG", "6") // the longest that its voters grant
	}
	ts.Setenv("INTERVAL", "500ms")
	if b.Can(locks.CanWatch) {
		ts.Setenv("INTERVAL", "1h")
	}
}

// cmdEtcd is the command
//
//	etcd [own|tls|mtls|expired|auth]
//	etcd stop|start|pause|resume
//
// The first form starts a server, or without an argument uses one that other scripts
// share. $ETCD is its address, and LEADERRUN_BACKEND names it, with a prefix of the
// script's own; ETCDCTL_ENDPOINTS makes etcdctl work. With tls the server has a
// certificate of the authority in $CA; with mtls it requires one of its clients, such as
// $CERT and $KEY; with expired its own certificate has expired. With auth there is a user
// alice, password secret, who may use the prefix /alice. The second form does that to the
// script's own server.
func cmdEtcd(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) <= 1, "etcd [KIND]")
	w := worldOf(ts)
	kind := ""
	if len(args) == 1 {
		kind = args[0]
	}
	switch kind {
	case "":
		w.announce(ts, w.suite.shared.get(w.tb))
	case "own":
		w.announce(ts, etcdtest.Start(w.tb, etcdtest.Options{}))
	case "tls", "mtls", "expired":
		w.announce(ts, w.startTLS(ts, kind))
	case "auth":
		s := etcdtest.Start(w.tb, etcdtest.Options{})
		s.EnableAuth("rootsecret", etcdtest.User{Name: "alice", Password: "secret", Prefix: "/alice"})
		w.announce(ts, s)
	case "stop":
		w.etcd.Stop()
	case "start":
		w.etcd.Start()
	case "pause":
		w.etcd.Pause()
	case "resume":
		w.etcd.Resume()
	default:
		ts.Fatalf("unknown kind of etcd %q", kind)
	}
}

// announce sets the script's variables for a server.
func (w *world) announce(ts *testscript.TestScript, s *etcdtest.Server) {
	w.etcd = s
	w.showLog("etcd", s.Log)
	ts.Setenv("ETCD", s.Addr())
	ts.Setenv("LEADERRUN_BACKEND", s.URL()+"/"+ts.Getenv("NAME"))
	ts.Setenv("ETCDCTL_ENDPOINTS", s.Endpoint())
	bin := filepath.Dir(etcdtest.Binary(w.tb, "", "etcdctl"))
	ts.Setenv("PATH", bin+string(filepath.ListSeparator)+ts.Getenv("PATH")) // not the etcdctl of another version
}

// showLog shows the end of a server's log if the script fails.
func (w *world) showLog(name string, log func() string) {
	w.tb.Cleanup(func() {
		if w.tb.Failed() {
			text := log()
			w.tb.Logf("%s has logged:\n%s", name, text[max(0, len(text)-4000):])
		}
	})
}

func (w *world) startTLS(ts *testscript.TestScript, kind string) *etcdtest.Server {
	ca := realserver.NewCA(w.tb)
	cert, key := ca.Issue("server", realserver.Cert{Expired: kind == "expired"})
	o := &etcdtest.TLS{CertFile: cert, KeyFile: key}
	if kind == "mtls" {
		o.ClientCAFile = ca.CertFile
		clientCert, clientKey := ca.Issue("client", realserver.Cert{})
		ts.Setenv("CERT", clientCert)
		ts.Setenv("KEY", clientKey)
	}
	ts.Setenv("CA", ca.CertFile)
	return etcdtest.Start(w.tb, etcdtest.Options{TLS: o})
}

// cmdZK is the command
//
//	zk [own|small]
//	zk stop|start
//
// The first form starts a ZooKeeper server, or without an argument uses one that other
// scripts share. $ZK is its address, and LEADERRUN_BACKEND names it, with a chroot of the
// script's own. A small server grants sessions of at most 3 s. The second form does that
// to the script's own server.
func cmdZK(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) <= 1, "zk [KIND]")
	w := worldOf(ts)
	kind := ""
	if len(args) > 0 {
		kind = args[0]
	}
	switch kind {
	case "":
		w.announceZK(ts, w.suite.shared.getZK(w.tb))
	case "own":
		w.announceZK(ts, zktest.Start(w.tb, zktest.Options{}))
	case "small":
		w.announceZK(ts, zktest.Start(w.tb, zktest.Options{Largest: 3 * time.Second}))
	case "stop":
		w.zk.Stop()
	case "start":
		w.zk.Start()
	default:
		ts.Fatalf("unknown kind of ZooKeeper %q", kind)
	}
}

func (w *world) announceZK(ts *testscript.TestScript, s *zktest.Server) {
	w.zk = s
	w.showLog("ZooKeeper", s.Log)
	ts.Setenv("ZK", s.Addr())
	ts.Setenv("ZK_HOSTS", s.Addr()+"/"+ts.Getenv("NAME"))
	ts.Setenv("LEADERRUN_BACKEND", s.URL()+"/"+ts.Getenv("NAME"))
}

// cmdHTTP is the command "http": it starts a web server, $HTTP, which has only /healthy.
func cmdHTTP(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 0, "http")
	s := httptest.NewServer(http.HandlerFunc(answer))
	ts.Defer(s.Close)
	ts.Setenv("HTTP", s.Listener.Addr().String())
}

func answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/healthy" {
		http.NotFound(w, r)
	}
}

// cmdProxy is the command
//
//	proxy ADDRESS
//	proxy cut|cut-replies|refuse|heal
//	proxy delay TIME
//
// The first form puts a proxy, $PROXY, in front of an address; the others break the
// connection between the two, and heal it.
func cmdProxy(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && (len(args) == 1 || len(args) == 2 && args[0] == "delay"), "proxy ADDRESS|FAULT")
	w := worldOf(ts)
	switch args[0] {
	case "delay":
		d, err := time.ParseDuration(args[1])
		ts.Check(err)
		w.proxy.Delay(d)
	case "cut":
		w.proxy.CutAll()
	case "cut-replies":
		w.proxy.CutReplies()
	case "refuse":
		w.proxy.Refuse()
	case "heal":
		w.proxy.Heal()
	default:
		w.proxy = faultproxy.New(w.tb, args[0])
		ts.Setenv("PROXY", w.proxy.Addr())
	}
}

// A sharedServer is one etcd server, and one ZooKeeper server, for the scripts that need
// nothing special, started by the first of them.
type sharedServer struct {
	parent *testing.T
	start  sync.Once
	server *etcdtest.Server

	startZK sync.Once
	zk      *zktest.Server
}

func (s *sharedServer) get(tb testing.TB) *etcdtest.Server {
	etcdtest.Binary(tb, "", "etcd") // if it is missing, skip the script
	s.start.Do(func() { s.server = etcdtest.Start(s.parent, etcdtest.Options{}) })
	if s.server == nil {
		tb.Fatal("the etcd of all scripts has not started; its log is with TestScripts")
	}
	return s.server
}

func (s *sharedServer) getZK(tb testing.TB) *zktest.Server {
	zktest.Require(tb) // if it is missing, skip the script
	s.startZK.Do(func() { s.zk = zktest.Start(s.parent, zktest.Options{}) })
	if s.zk == nil {
		tb.Fatal("the ZooKeeper of all scripts has not started; its log is with TestScripts")
	}
	return s.zk
}
