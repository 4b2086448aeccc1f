package etcd

import (
	"context"
	"net/url"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
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
