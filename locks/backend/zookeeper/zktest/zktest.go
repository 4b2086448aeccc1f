// Package zktest runs real ZooKeeper servers for tests and benchmarks, alone and
// as an ensemble, with fresh directories.
package zktest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// release is the directory of the server's jars in the cache.
const release = "zookeeper-v3.8"

// Options say what kind of server to run. The zero value means one without TLS.
type Options struct {
	Tick time.Duration // 0 means 200 ms
	// Largest is the longest timeout that a session may have. 0 means two
	// minutes, instead of ZooKeeper's 20 ticks.
	Largest time.Duration
	TLS     *TLS     // nil: plain TCP
	Config  []string // further lines of zoo.cfg
	Java    []string // further arguments of java
	// Places are where the members run, one for each; nil: on loopback.
	Places []realserver.Place
}

// TLS names the files of a server that speaks TLS.
type TLS struct {
	CertFile, KeyFile string
	ClientCAFile      string // if set, clients must show a certificate signed by it
}

// A Server is one member. Its methods fail the test if they cannot do what they say, and
// must not be called concurrently.
type Server struct {
	*realserver.Process
	o      Options
	dir    string
	id     int
	client int // the ports
	quorum int
	vote   int
}

// Start runs a single server.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	return StartEnsemble(tb, 1, o)[0]
}

// An Ensemble has the members of an ensemble.
type Ensemble []*Server

// Require skips the test, or fails it if CI=true, if no server can be started.
func Require(tb testing.TB) (java, jars string) {
	tb.Helper()
	jars = realserver.Installed(tb, release)
	java, err := exec.LookPath("java")
	if err != nil {
		realserver.Missing(tb, "there is no java; Debian has it in default-jre-headless")
	}
	return java, jars
}

// StartEnsemble runs an ensemble of n members.
func StartEnsemble(tb testing.TB, n int, o Options) Ensemble {
	tb.Helper()
	e := prepare(tb, n, o)
	for _, s := range e {
		s.Process.Start()
	}
	for _, s := range e {
		s.WaitReady()
	}
	return e
}

// StartMinority runs only the first of three members: it has no quorum. Start starts each of
// the others.
func StartMinority(tb testing.TB, o Options) Ensemble {
	tb.Helper()
	e := prepare(tb, 3, o)
	e[0].Process.Start()
	e[0].Process.WaitReady(func() bool { return e[0].Ask("srvr") != "" })
	return e
}

func prepare(tb testing.TB, n int, o Options) Ensemble {
	tb.Helper()
	java, jars := Require(tb)
	e := make(Ensemble, n)
	for i := range e {
		e[i] = &Server{o: o, dir: tb.TempDir(), id: i + 1,
			client: realserver.FreePort(tb), quorum: realserver.FreePort(tb), vote: realserver.FreePort(tb)}
		e[i].Process = &realserver.Process{TB: tb, Path: java, LogFile: filepath.Join(e[i].dir, "log"), Env: []string{"HOME=" + e[i].dir}}
		if o.Places != nil {
			e[i].Place = o.Places[i]
		}
	}
	for _, s := range e {
		s.configure(jars, e)
		s.install()
	}
	return e
}

// Addr returns the address for clients, "127.0.0.1:port" on loopback.
func (s *Server) Addr() string { return s.Place.Addr(s.client) }

// URL returns the address as a leaderrun backend, without a chroot.
func (s *Server) URL() string { return "zk://" + s.Addr() }

// Start starts a server that was stopped or killed, with its data, and with its current
// certificate.
func (s *Server) Start() {
	s.TB.Helper()
	s.install()
	s.Process.Start()
	s.WaitReady()
}

// WaitReady waits until the server serves: an ensemble's member leads or follows.
func (s *Server) WaitReady() {
	s.TB.Helper()
	s.Process.WaitReady(s.serves)
}

// URL returns the members' addresses as a leaderrun backend, without a chroot.
func (e Ensemble) URL() string {
	var addrs []string
	for _, s := range e {
		addrs = append(addrs, s.Addr())
	}
	return "zk://" + strings.Join(addrs, ",")
}

// Leader waits until a member leads, and returns it.
func (e Ensemble) Leader() *Server { return e.find("Mode: leader") }

// Follower waits until a member follows, and returns it.
func (e Ensemble) Follower() *Server { return e.find("Mode: follower") }

func (e Ensemble) find(mode string) *Server {
	tb := e[0].TB
	tb.Helper()
	for end := time.Now().Add(realserver.Ready); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, s := range e {
			if strings.Contains(s.Ask("srvr"), mode) {
				return s
			}
		}
	}
	tb.Fatalf("no server answers with %q", mode)
	return nil
}

// Ask sends a four-letter command, and returns the answer, or "" if there is none.
func (s *Server) Ask(command string) string {
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write([]byte(command))
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String()
		}
	}
}

// Uptime returns for how long the server has run, by its own monotonic clock, which sessions end by.
func (s *Server) Uptime() (d time.Duration) {
	s.TB.Helper()
	s.Process.WaitReady(func() bool {
		_, text, _ := strings.Cut(s.Ask("mntr"), "\nzk_uptime\t")
		ms, _, _ := strings.Cut(text, "\n")
		n, err := strconv.ParseInt(ms, 10, 64)
		d = time.Duration(n) * time.Millisecond
		return err == nil
	})
	return d
}

func (s *Server) serves() bool {
	if s.o.TLS != nil { // Ask does not use TLS
		return strings.Contains(s.Log(), "bound to port") // "binding to" comes before it listens
	}
	return strings.Contains(s.Ask("srvr"), "Mode: ")
}

// configure writes the files of a member. It is called once.
func (s *Server) configure(jars string, e Ensemble) {
	s.TB.Helper()
	largest := s.o.Largest
	if largest == 0 {
		largest = 2 * time.Minute
	}
	tick := s.o.Tick
	if tick == 0 {
		tick = 200 * time.Millisecond
	}
	port := fmt.Sprintf("clientPort=%d", s.client)
	lines := []string{
		"dataDir=" + s.dir, "clientPortAddress=" + s.Place.Host(), "admin.enableServer=false", "4lw.commands.whitelist=*", "maxClientCnxns=0",
		fmt.Sprintf("tickTime=%d", tick.Milliseconds()), fmt.Sprintf("maxSessionTimeout=%d", largest.Milliseconds()),
		"initLimit=50", "syncLimit=10",
	}
	if t := s.o.TLS; t != nil {
		port = fmt.Sprintf("secureClientPort=%d\nsecureClientPortAddress=127.0.0.1", s.client)
		lines = append(lines[:1], lines[2:]...)
		lines = append(lines, s.tls(t)...)
	}
	lines = append(lines, port)
	if len(e) > 1 {
		for _, m := range e {
			lines = append(lines, fmt.Sprintf("server.%d=%s:%d:%d", m.id, m.Place.Host(), m.quorum, m.vote))
		}
	}
	s.write("zoo.cfg", strings.Join(append(lines, s.o.Config...), "\n")+"\n")
	s.write("myid", fmt.Sprintln(s.id))
	s.write("log4j.properties", "log4j.rootLogger=INFO, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"+
		"log4j.appender.out.layout=org.apache.log4j.PatternLayout\nlog4j.appender.out.layout.ConversionPattern=%d %p %c{1}: %m%n\n")
	s.Args = append([]string{
		"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.io.tmpdir=" + s.dir,
		"-Dzookeeper.forceSync=no", "-Dznode.container.checkIntervalMs=100", "-Dzookeeper.extendedTypesEnabled=true",
	}, s.o.Java...)
	s.Args = append(s.Args, "-cp", s.dir+string(filepath.ListSeparator)+filepath.Join(jars, "*"),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(s.dir, "zoo.cfg"))
}

// install copies the server's certificate and its key into one file, as ZooKeeper requires.
func (s *Server) install() {
	s.TB.Helper()
	if s.o.TLS == nil {
		return
	}
	var both []byte
	for _, name := range []string{s.o.TLS.KeyFile, s.o.TLS.CertFile} {
		b, err := os.ReadFile(name)
		if err != nil {
			s.TB.Fatal(err)
		}
		both = append(both, b...)
	}
	s.write("server.pem", string(both))
}

// tls returns the lines of the configuration that concern TLS.
func (s *Server) tls(t *TLS) []string {
	auth, ca := "none", t.CertFile
	if t.ClientCAFile != "" {
		auth, ca = "need", t.ClientCAFile
	}
	return []string{
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory", "ssl.clientAuth=" + auth,
		"ssl.keyStore.location=" + filepath.Join(s.dir, "server.pem"), "ssl.keyStore.type=PEM",
		"ssl.trustStore.location=" + ca, "ssl.trustStore.type=PEM",
	}
}

func (s *Server) write(name, text string) {
	s.TB.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.TB.Fatal(err)
	}
}
