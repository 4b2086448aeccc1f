package etcd

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// connect notes a connection, and returns it with what a request over it knows of it.
func connect(t *testing.T, cs *connections) (*connection, *peer.Peer) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = theirs.Close() })
	conn, _, err := cs.noting(insecure.NewCredentials()).ClientHandshake(t.Context(), "", ours)
	if err != nil {
		t.Fatal(err)
	}
	return conn.(*connection), &peer.Peer{LocalAddr: conn.LocalAddr(), Addr: conn.RemoteAddr()}
}

// TestJudge checks after which ends of a request a holder gives a connection up.
func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		took time.Duration // more than the connection is old
		want bool
	}{
		{"served", nil, 0, false},
		{"no leader", rpctypes.ErrGRPCNoLeader, 0, true},
		{"no answer", status.Error(codes.DeadlineExceeded, ""), 0, true},
		{"no answer while connecting", status.Error(codes.DeadlineExceeded, ""), time.Minute, false},
		{"given up by the caller", status.Error(codes.Canceled, ""), 0, false},
		{"too many requests", rpctypes.ErrGRPCRequestTooManyRequests, 0, false},
		{"a learner", rpctypes.ErrGRPCNotSupportedForLearner, 0, false},
		{"refused", rpctypes.ErrGRPCPermissionDenied, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cs := newConnections()
				cs.urgent.Store(true)
				c, at := connect(t, cs)
				time.Sleep(time.Second)
				cs.judge(at, time.Now().Add(-time.Second-tt.took), tt.err)
				if got := c.dropped.Load(); got != tt.want {
					t.Errorf("given up: %t", got)
				}
			})
		})
	}
}

// TestWaiterDropsSlowly checks that a waiter gives bad connections up after a second at first,
// and ever more slowly, and keeps one that serves a request meanwhile.
func TestWaiterDropsSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := newConnections()
		for _, longest := range []time.Duration{1, 2, 4, 8, 10, 10} {
			longest *= time.Second
			c, at := connect(t, cs)
			start := time.Now()
			for !c.dropped.Load() {
				cs.judge(at, start, rpctypes.ErrGRPCNoLeader)
				time.Sleep(10 * time.Millisecond)
			}
			if took := time.Since(start); took < longest/2 || took > longest+20*time.Millisecond {
				t.Errorf("given up after %v; want %v at most, and at least half of it", took, longest)
			}
			_ = c.Close()
		}
		c, at := connect(t, cs)
		cs.judge(at, time.Now(), rpctypes.ErrGRPCNoLeader)
		cs.judge(at, time.Now(), nil)
		time.Sleep(time.Minute)
		if c.dropped.Load() {
			t.Error("a connection was given up that serves requests again")
		}
		if cs.pause.Next() != firstDrop {
			t.Errorf("the next pause is %v", cs.pause.Next())
		}
	})
}
