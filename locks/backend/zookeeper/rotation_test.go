package zookeeper_test

import (
	"context"
	"log/slog"
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

func portOf(s *zktest.Server) string { return s.Addr()[strings.LastIndex(s.Addr(), ":")+1:] }

// pods have the addresses of a name: 127.0.0.1 is a member of an ensemble without a
// quorum, 127.0.0.2 and 127.0.0.3 lead to a healthy server, 127.0.0.4 refuses connections.
type pods struct {
	members zktest.Ensemble
	paths   [2]*faultproxy.Proxy
	port    string
}

func startPods(t *testing.T) *pods {
	p := &pods{members: zktest.StartMinority(t, zktest.Options{})}
	p.port = portOf(p.members[0])
	healthy := zktest.Start(t, zktest.Options{})
	for i, ip := range []string{"127.0.0.2", "127.0.0.3"} {
		port, _ := strconv.Atoi(p.port)
		p.paths[i] = faultproxy.NewAt(t, net.ParseIP(ip), port, healthy.Addr())
	}
	return p
}

func (p *pods) url(name string) string { return "zk://" + name + ":" + p.port + "/" + name }

// renews renews once, in the time that a renewal has with a ttl of 15 s.
func renews(t testing.TB, l locks.Lock) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := l.Renew(ctx); err != nil {
		t.Errorf("renew: %v", err)
	}
}

// TestNameOfSeveralServers checks that each address of a name is tried, and that the
// addresses may change.
func TestNameOfSeveralServers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs the addresses 127.0.0.2 to 127.0.0.4, which only Linux has")
	}
	p := startPods(t)
	for _, tt := range []struct {
		name string
		test func(t testing.TB, p *pods, name string)
	}{
		{"first.without.quorum", testFirstWithoutQuorum},
		{"one.goes.silent", testOneGoesSilent},
		{"addresses.change", testAddressesChange},
		{"no.addresses.for.a.while", testNoAddressesForAWhile},
		{"quorum.comes.late", testQuorumComesLate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trial.Steady(t, func(t testing.TB, _ int) { tt.test(t, p, tt.name) })
		})
	}
}

func testFirstWithoutQuorum(t testing.TB, p *pods, name string) {
	names.set(name, "127.0.0.1", "127.0.0.2")
	w := handle(t, p.url(name), options("w"))
	servers := probe(t, p.url(name), options("w")).Servers
	if len(servers) != 2 || servers[0].Error == "" || servers[1].Error != "" || !strings.HasSuffix(servers[1].Address, " (127.0.0.2:"+p.port+")") {
		t.Errorf("probed: %+v", servers)
	}
	for range 4 { // the order is random
		l := open(t, p.url(name), options("a"))
		drive.Hold(t, l)
		renews(t, l)
		changes := drive.Watch(t, w, false)
		drive.Release(t, l)
		drive.Changed(t, changes, "nobody leads", func() bool { return !drive.Inspect(t, w).Held })
	}
}

func testOneGoesSilent(t testing.TB, p *pods, name string) {
	names.set(name, "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
	p.paths[1].CutAll()
	defer p.paths[1].Heal()
	l := open(t, p.url(name), options("a"))
	drive.Hold(t, l)
	for i := range 4 {
		silent, well := p.paths[i%2], p.paths[1-i%2]
		well.Heal()
		silent.CutAll()
		renews(t, l)
	}
	drive.Release(t, l)
}

func testAddressesChange(t testing.TB, p *pods, name string) {
	names.set(name, "127.0.0.2")
	defer p.paths[0].Heal()
	l := open(t, p.url(name), options("a"))
	drive.Hold(t, l)
	names.set(name, "127.0.0.1", "127.0.0.3")
	p.paths[0].Refuse()
	renews(t, l)
	drive.Release(t, l)
}

// testNoAddressesForAWhile checks that the known addresses are used until the name server
// answers again.
func testNoAddressesForAWhile(t testing.TB, p *pods, name string) {
	names.set(name, "127.0.0.2", "127.0.0.3")
	l := open(t, p.url(name), options("a"))
	drive.Hold(t, l)
	names.fail(name)
	for i := range 4 {
		p.paths[i%2].Refuse()
		renews(t, l)
		p.paths[i%2].Heal()
	}
	drive.Release(t, l)
}

// testQuorumComesLate checks that Acquire keeps trying if one server refuses connections,
// and another has no quorum yet.
func testQuorumComesLate(t testing.TB, p *pods, name string) {
	o := options("a")
	o.ConnectTimeout = drive.Patience
	o.TTL = drive.Patience // the session counts from the first attempt
	log := new(drive.Log)
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l := open(t, "zk://127.0.0.1:"+p.port+",127.0.0.4:"+p.port+"/"+name, o)
	done := make(chan error, 1)
	go func() {
		_, err := l.Acquire(drive.Context(t), true)
		done <- err
	}()
	drive.Eventually(t, drive.Patience, "each address was tried three times", func() bool {
		return strings.Count(log.String(), "cannot connect") >= 6
	})
	p.members[1].Start()
	if err := drive.Within(t, drive.Patience, done); err != nil {
		t.Error(err)
	}
	drive.Release(t, l)
}
