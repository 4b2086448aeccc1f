package etcd

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// A hanging is a member whose disk hangs, in front of a real one: its connections answer
// pings. Making a disk hang would need privileges.
type hanging struct {
	addr   string
	server *grpc.ClientConn

	silent atomic.Bool  // watches report nothing
	missed atomic.Int64 // what they have not reported
	late   atomic.Bool  // watches do not begin meanwhile
	stuck  atomic.Bool  // requests that need a majority get no answer meanwhile
	// leads makes it renew leases by itself, as the leader of an earlier term does in servers
	// before 3.4.31 and 3.5.13.
	leads atomic.Bool

	mu         sync.Mutex
	clients    map[string]bool // the addresses of all so far
	leaderless map[string]bool // those that it refuses, as a member without a leader does
}

// raw is an encoded message.
type raw []byte

// asIs is a codec that leaves messages encoded.
type asIs struct{}

func (asIs) Name() string                  { return "proto" }
func (asIs) Marshal(v any) ([]byte, error) { return *v.(*raw), nil }
func (asIs) Unmarshal(data []byte, v any) error {
	*v.(*raw) = append(raw{}, data...)
	return nil
}

func hang(t *testing.T, s *etcdtest.Server) *hanging {
	conn, err := grpc.NewClient(s.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hanging{addr: l.Addr().String(), server: conn, clients: map[string]bool{}}
	front := grpc.NewServer(grpc.ForceServerCodec(asIs{}), grpc.UnknownServiceHandler(h.pass))
	go func() { _ = front.Serve(l) }()
	t.Cleanup(func() { front.Stop(); _ = conn.Close() })
	return h
}

// pass passes on a request and its answers.
func (h *hanging) pass(_ any, client grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(client)
	if h.refuses(client) {
		return rpctypes.ErrGRPCNoLeader
	}
	md, _ := metadata.FromIncomingContext(client.Context())
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(client.Context(), md))
	defer cancel()
	back, err := h.server.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method, grpc.ForceCodec(asIs{}))
	if err != nil {
		return err
	}
	go func() {
		for {
			var m raw
			if client.RecvMsg(&m) != nil {
				_ = back.CloseSend()
				return
			}
			for h.stuck.Load() && strings.Contains(method, ".KV/") || h.late.Load() && strings.HasSuffix(method, "/Watch") {
				if backoff.Sleep(ctx, 10*time.Millisecond) != nil {
					return
				}
			}
			if h.leads.Load() && strings.HasSuffix(method, "/LeaseKeepAlive") {
				_ = client.SendMsg(renewed(m))
				continue
			}
			_ = back.SendMsg(&m)
		}
	}()
	for first := true; ; first = false {
		var m raw
		switch err := back.RecvMsg(&m); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if h.refuses(client) {
			return rpctypes.ErrGRPCNoLeader
		}
		if h.silent.Load() && !first && strings.HasSuffix(method, "/Watch") { // the first answer confirms the watch
			h.missed.Add(1)
			continue
		}
		if err := client.SendMsg(&m); err != nil {
			return err
		}
	}
}

// refuses reports whether the connection of a client is one that loseLeader has ended.
func (h *hanging) refuses(client grpc.ServerStream) bool {
	from, _ := peer.FromContext(client.Context())
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clients[from.Addr.String()] = true
	return h.leaderless[from.Addr.String()]
}

// loseLeader makes it a member without a leader for all present connections. New ones lead to
// another, as behind a balancer.
func (h *hanging) loseLeader() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaderless = maps.Clone(h.clients)
}

// renewed returns the answer to a request for a renewal.
func renewed(m raw) *raw {
	var asked pb.LeaseKeepAliveRequest
	_ = proto.Unmarshal(m, &asked)
	answer, _ := proto.Marshal(&pb.LeaseKeepAliveResponse{Header: &pb.ResponseHeader{RaftTerm: 1}, ID: asked.ID, TTL: 10})
	r := raw(answer)
	return &r
}

func (h *hanging) open(t *testing.T, holder string, waiting func(locks.Waiting)) opened {
	t.Helper()
	l := openLock(t, "etcd://"+h.addr, locks.Options{Name: "jobs", Holder: holder, TTL: 10 * time.Second, ConnectTimeout: trial.Stretch(5 * time.Second), Waiting: waiting})
	l.etcd.lookEvery = 100 * time.Millisecond
	return l
}

// TestRenewedByFormerLeader checks that a renewal by the leader of an earlier term does not
// count.
func TestRenewedByFormerLeader(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	for name, stuck := range map[string]bool{"and reads hang": true, "and reads are answered": false} {
		t.Run(name, func(t *testing.T) {
			h := hang(t, s)
			l := h.open(t, "a", nil)
			drive.Hold(t, l)
			drive.Renew(t, l)
			h.stuck.Store(stuck)
			h.leads.Store(true)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := l.Renew(ctx); err == nil {
				t.Error("the renewal succeeded; for the other members the lease still ends")
			} else if errors.Is(err, locks.ErrLost) {
				t.Errorf("got %v; it may still be ours", err)
			}
			h.stuck.Store(false)
			h.leads.Store(false)
			drive.Renew(t, l) // the disk works again
			drive.Release(t, l)
		})
	}
}

// campaign returns when a second handle waits, with a channel for the end of that.
func (h *hanging) campaign(t *testing.T) (opened, <-chan error) {
	t.Helper()
	waits, got := make(chan struct{}, 100), make(chan error, 1)
	l := h.open(t, "second", func(locks.Waiting) { waits <- struct{}{} })
	go func() {
		_, err := l.Acquire(drive.Context(t), false)
		got <- err
	}()
	drive.Within(t, drive.Patience, waits)
	return l, got
}

// TestWaiterWithSilentWatch checks that a waiter whose watch reports nothing gets the lock
// with one of its next renewals.
func TestWaiterWithSilentWatch(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	h := hang(t, s)
	first := h.open(t, "first", nil)
	drive.Hold(t, first)
	l, got := h.campaign(t)
	time.Sleep(100 * time.Millisecond) // its watch begins
	h.silent.Store(true)
	drive.Renew(t, l)
	drive.Release(t, first)
	drive.Renew(t, l)
	if err := drive.Within(t, drive.Patience, got); err != nil {
		t.Fatal(err)
	}
	drive.Renew(t, l)
}

// TestLeaderlessBehindBalancer has one address, behind which the member of the present
// connections loses its leader. The holder renews at once over a new one, and the waiter gets the
// lock.
func TestLeaderlessBehindBalancer(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	h := hang(t, s)
	first := h.open(t, "first", nil)
	drive.Hold(t, first)
	second, got := h.campaign(t)
	drive.Renew(t, first) // from now on it is known to hold
	h.loseLeader()
	drive.Renew(t, first)
	drive.Release(t, first)
	if err := drive.Within(t, drive.Patience, got); err != nil {
		t.Fatal(err)
	}
	drive.Renew(t, second)
	drive.Release(t, second)
}

// TestHolderWithSilentWatch checks that a holder whose watch reports nothing still receives
// requests, and learns from a renewal that it has lost the lock. A watcher of the lock sees
// it change.
func TestHolderWithSilentWatch(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	h := hang(t, s)
	l := h.open(t, "a", nil)
	g := drive.Hold(t, l)
	changed, err := h.open(t, "operator", nil).Watch(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // the watches begin
	h.silent.Store(true)
	c := s.Client()
	defer c.Close()
	if err := h.open(t, "other", nil).Ask(drive.Context(t), g.Token, []byte("resign")); err != nil {
		t.Fatal(err)
	}
	if text := drive.Within(t, drive.Patience, l.Asked()); string(text) != "resign" {
		t.Errorf("received the request %q", text)
	}
	if _, err := c.Delete(drive.Context(t), l.etcd.queue, clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	drive.Within(t, drive.Patience, changed)
	if err := l.Renew(drive.Context(t)); !errors.Is(err, locks.ErrLost) {
		t.Errorf("got %v; want ErrLost", err)
	}
}
