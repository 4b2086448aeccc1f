package etcd

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// opened is a handle with its store.
type opened struct {
	*queue.Lock
	etcd *lock
}

func openLock(t *testing.T, rawURL string, o locks.Options) opened {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLock(u, o)
	if err != nil {
		t.Fatal(err)
	}
	h := l.handle()
	t.Cleanup(func() { _ = h.Close() })
	return opened{h, l}
}

// A hookedKV calls next instead of sending the next transaction.
type hookedKV struct {
	pb.KVClient
	next func(send func() (*pb.TxnResponse, error), r *pb.TxnRequest) (*pb.TxnResponse, error)
}

func (k *hookedKV) Txn(ctx context.Context, r *pb.TxnRequest, o ...grpc.CallOption) (*pb.TxnResponse, error) {
	send, next := func() (*pb.TxnResponse, error) { return k.KVClient.Txn(ctx, r, o...) }, k.next
	if k.next = nil; next == nil {
		return send()
	}
	return next(send, r)
}

// hook lets f take the place of a handle's next transaction.
func (l opened) hook(f func(send func() (*pb.TxnResponse, error), r *pb.TxnRequest) (*pb.TxnResponse, error)) {
	l.etcd.c.kv = &hookedKV{l.etcd.c.kv, f}
}

var errNoAnswer = status.Error(codes.Unavailable, "no answer")

// TestBreakComesLate checks that a request to break a term does not break the next one if
// it is repeated, or arrives after the end of its term.
func TestBreakComesLate(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"answer lost", "overtaken"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := etcdtest.Start(t, etcdtest.Options{})
			o := locks.Options{Name: "jobs", Holder: "a", TTL: time.Minute, ConnectTimeout: trial.Stretch(5 * time.Second)}
			a, b, breaker := openLock(t, s.URL(), o), openLock(t, s.URL(), o), openLock(t, s.URL(), o)
			token := drive.Hold(t, a).Token
			waiting := make(chan error, 1)
			go func() { _, err := b.Acquire(drive.Context(t), false); waiting <- err }()
			drive.Eventually(t, drive.Patience, "somebody waits", func() bool { return drive.Inspect(t, a).Waiters == 1 })
			breaker.hook(func(send func() (*pb.TxnResponse, error), _ *pb.TxnRequest) (*pb.TxnResponse, error) {
				if how == "overtaken" {
					drive.Release(t, a)
					return send()
				}
				_, _ = send()
				return nil, errNoAnswer
			})
			if err := breaker.Break(drive.Context(t), token); !errors.Is(err, locks.ErrLost) {
				t.Errorf("break: %v", err)
			}
			if err := drive.Within(t, drive.Patience, waiting); err != nil {
				t.Errorf("the next in line: %v", err)
			}
			if got := drive.Inspect(t, b); !got.Held || got.Token <= token {
				t.Errorf("got %+v", got)
			}
			drive.Renew(t, b)
		})
	}
}

// TestRecordComesLate checks that a request that was repeated, and arrives after a newer
// record, does not bring back the older one.
func TestRecordComesLate(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	l := openLock(t, s.URL(), locks.Options{Name: "a", Holder: "a", TTL: 10 * time.Second, ConnectTimeout: trial.Stretch(5 * time.Second)})
	drive.Hold(t, l)
	var late func() (*pb.TxnResponse, error)
	l.hook(func(_ func() (*pb.TxnResponse, error), r *pb.TxnRequest) (*pb.TxnResponse, error) {
		late = func() (*pb.TxnResponse, error) { return l.etcd.c.kv.Txn(drive.Context(t), r) }
		return nil, errNoAnswer
	})
	for _, text := range []string{"older", "newer"} {
		if err := l.SetRecord(drive.Context(t), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := late(); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Record(drive.Context(t)); err != nil || string(got) != "newer" {
		t.Errorf("got %q, %v; want the newer record", got, err)
	}
}

// A silentLease does not answer requests for the time left of a lease.
type silentLease struct{ pb.LeaseClient }

func (s silentLease) LeaseTimeToLive(ctx context.Context, _ *pb.LeaseTimeToLiveRequest, _ ...grpc.CallOption) (*pb.LeaseTimeToLiveResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestLeftIsNotWaitedFor checks that Inspect returns everything else if the server does not
// report the time left.
func TestLeftIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	o := locks.Options{Name: "jobs", Holder: "a", TTL: time.Minute, ConnectTimeout: time.Minute}
	l := openLock(t, s.URL(), o)
	token := drive.Hold(t, l).Token
	l.etcd.c.lease = silentLease{l.etcd.c.lease}
	start := time.Now()
	if got := drive.Inspect(t, l); got.Token != token || got.Holder != "a" || got.Left != 0 {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(start); took > leftTimeout+2*time.Second {
		t.Errorf("after %v", took)
	}
}
