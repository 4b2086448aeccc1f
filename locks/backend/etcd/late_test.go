package etcd

import (
	"context"
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
)

// A slowKV keeps the next transaction, and returns that there was no answer.
type slowKV struct {
	pb.KVClient
	held *pb.TxnRequest
}

func (s *slowKV) Txn(ctx context.Context, r *pb.TxnRequest, o ...grpc.CallOption) (*pb.TxnResponse, error) {
	if s.held == nil {
		s.held = r
		return nil, status.Error(codes.Unavailable, "no answer")
	}
	return s.KVClient.Txn(ctx, r, o...)
}

// TestRecordComesLate checks that a request that was repeated, and arrives after a newer
// record, does not bring back the older one.
func TestRecordComesLate(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	l := openLock(t, s.URL(), locks.Options{Name: "a", Holder: "a", TTL: 10 * time.Second, ConnectTimeout: trial.Stretch(5 * time.Second)})
	drive.Hold(t, l)
	network := &slowKV{KVClient: l.etcd.c.kv}
	l.etcd.c.kv = network
	for _, text := range []string{"older", "newer"} {
		if err := l.SetRecord(drive.Context(t), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if network.held == nil {
		t.Fatal("nothing was held back")
	}
	if _, err := network.KVClient.Txn(drive.Context(t), network.held); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Record(drive.Context(t)); err != nil || string(got) != "newer" {
		t.Errorf("got %q, %v; want the newer record", got, err)
	}
}
