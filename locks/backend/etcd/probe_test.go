package etcd_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// probe probes the servers, and checks that this does not take too long.
func probe(t testing.TB, rawURL string) locks.Servers {
	t.Helper()
	o := options("operator")
	o.ConnectTimeout = 2 * time.Second
	start := time.Now()
	s, err := handle(t, rawURL, o).Probe(drive.Context(t))
	if took := time.Since(start); err != nil || s.Product != "etcd" || took > o.ConnectTimeout+promptly {
		t.Errorf("after %v: %+v, %v", took, s, err)
	}
	if len(s.Servers) > locks.MaxServers || len(s.Findings) > locks.MaxFindings {
		t.Errorf("%d servers, %d findings", len(s.Servers), len(s.Findings))
	}
	for _, f := range s.Findings {
		if f.Check == "" || f.Text == "" || (f.Level == "ok") != (f.Fix == "") && f.Level != "warning" && f.Level != "error" {
			t.Errorf("incomplete finding: %+v", f)
		}
	}
	return s
}

// found checks that there is a finding with this check and level, and this text in it.
func found(t *testing.T, s locks.Servers, check, level, text string) {
	t.Helper()
	for _, f := range s.Findings {
		if f.Check == check && f.Level == level && strings.Contains(f.Text, text) {
			return
		}
	}
	t.Errorf("no finding %q, %s, %q in %+v", check, level, text, s.Findings)
}

func TestProbeEveryVersion(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := etcdtest.Start(t, etcdtest.Options{Version: version})
			s := probe(t, server.URL())
			m := s.Servers[0]
			if len(s.Servers) != 1 || m.Address != server.Addr() || m.Error != "" || m.Class != "" || m.Role != "leader" || s.User != "" ||
				!strings.HasPrefix(m.Version, version+".") || m.RTT <= 0 || m.RTT > time.Second || m.TLS != "" || !m.Expires.IsZero() || !m.Time.IsZero() {
				t.Errorf("got %+v", s)
			}
			found(t, s, "cluster", "ok", "one cluster")
			found(t, s, "authentication", "warning", "is off")
			if version == "3.4" { // 3.4.23, as Debian has it
				found(t, s, "version", "warning", "15247")
				two := etcdtest.StartCluster(t, 2, etcdtest.Options{Version: version})
				found(t, probe(t, two[0].URL()), "version", "error", "15247")
			} else if len(s.Findings) > 2 {
				t.Errorf("found %+v", s.Findings)
			}
		})
	}
}

// TestProbeAuth probes each version as a user who may do everything under the prefix, as
// one who may do nothing, with a wrong password, and without a user.
func TestProbeAuth(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := etcdtest.Start(t, etcdtest.Options{Version: version})
			server.EnableAuth("root", etcdtest.User{Name: "user", Password: password, Prefix: "/mine/"}, etcdtest.User{Name: "nobody", Password: password})
			for _, tt := range []struct {
				who, user string
				without   string // why the server may deny its status
			}{
				{"user:" + password + "@", "user", ""},
				{"nobody:" + password + "@", "nobody", ""},
				{"user:" + wrongPassword + "@", "", "invalid user ID or password"},
				{"", "", "the server wants a user"},
			} {
				s := probe(t, "etcd://"+tt.who+server.Addr()+"/mine")
				m := s.Servers[0]
				if denied := m.Class == "denied"; denied && (tt.without == "" || !strings.Contains(m.Error, tt.without)) || !denied && (m.Error != "" || m.Role != "leader") {
					t.Errorf("%q: %+v", tt.who, m)
				}
				if s.User != tt.user {
					t.Errorf("as %q, the user is %q", tt.who, s.User)
				}
				if tt.user == "" {
					found(t, s, "authentication", "error", "nobody")
				} else {
					found(t, s, "authentication", "ok", tt.user)
				}
				if tt.who != "" {
					found(t, s, "encryption", "warning", "unencrypted")
				}
			}
		})
	}
}

// TestProbeCluster checks who leads, and who is down, silent or without a quorum.
func TestProbeCluster(t *testing.T) {
	t.Parallel()
	c := etcdtest.StartCluster(t, 3, etcdtest.Options{})
	roles := func(s locks.Servers) (all []string) {
		for _, m := range s.Servers {
			all = append(all, m.Role+m.Class)
		}
		slices.Sort(all)
		return all
	}
	c.Leader()
	if got, want := roles(probe(t, c.URL())), []string{"follower", "follower", "leader"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	c[0].Kill()
	c.Leader()
	s := probe(t, c.URL())
	if got, want := roles(s), []string{"follower", "leader", "unavailable"}; !slices.Equal(got, want) || !strings.Contains(s.Servers[0].Error, "connection refused") || s.Servers[0].Address != c[0].Addr() {
		t.Errorf("one is down: %+v", s)
	}
	c[1].Pause()
	if m := probe(t, c[1].URL()).Servers[0]; m.Class != "unavailable" || !strings.Contains(m.Error, "answer") {
		t.Errorf("a silent server: %+v", m)
	}
	c[1].Resume()
	c[1].Kill()
	drive.Eventually(t, drive.Patience, "the last member has noticed", func() bool { return strings.Contains(c[2].Metrics(), "\netcd_server_has_leader 0\n") })
	s = probe(t, c.URL())
	if s.Servers[2].Role != "without a leader" || s.Servers[2].Version == "" {
		t.Errorf("without a quorum: %+v", s)
	}
}

// TestProbeFindings checks the findings about a cluster that answers.
func TestProbeFindings(t *testing.T) {
	t.Parallel()
	one := etcdtest.Start(t, etcdtest.Options{})
	two := etcdtest.Start(t, etcdtest.Options{})
	found(t, probe(t, one.URL()+","+two.Addr()), "cluster", "error", one.Addr())
	if _, err := pb.NewMaintenanceClient(operate(t, one).ActiveConnection()).Alarm(drive.Context(t), &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_CORRUPT}); err != nil {
		t.Fatal(err)
	}
	found(t, probe(t, one.URL()), "alarms", "error", "CORRUPT")
	found(t, probe(t, "etcd://user:"+password+"@"+two.Addr()), "authentication", "warning", "is off")
}

// TestProbeOthers probes addresses without a server, or with one that is not etcd: this is
// reported and not an error.
func TestProbeOthers(t *testing.T) {
	t.Parallel()
	trial.Steady(t, func(t testing.TB, _ int) {
		silent := drive.Listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		down := drive.Nobody(t)
		hangs := serveGRPC(t, func(_ any, s grpc.ServerStream) error {
			<-s.Context().Done()
			return status.FromContextError(s.Context().Err()).Err()
		})
		s := probe(t, "etcd://"+down+strings.Repeat(","+silent, locks.MaxServers)) // all are asked at the same time
		if len(s.Servers) != locks.MaxServers || !strings.Contains(s.Servers[0].Error, "connection refused") || !strings.Contains(s.Servers[1].Error, "answer") {
			t.Errorf("got %+v", s)
		}
		if m := probe(t, "etcd://"+hangs).Servers[0]; m.Class != "unavailable" || !strings.Contains(m.Error, "no answer within") {
			t.Errorf("a server that accepts requests without answering: %+v", m)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := handle(t, "etcd://"+down, options("o")).Probe(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// serveGRPC calls f for every request until the test ends.
func serveGRPC(t testing.TB, f grpc.StreamHandler) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(f))
	t.Cleanup(s.Stop)
	go func() { _ = s.Serve(l) }()
	return l.Addr().String()
}
