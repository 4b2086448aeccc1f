package etcd

import (
	"context"
	"errors"
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

// A lossyKV loses the answer to the next transaction.
type lossyKV struct {
	pb.KVClient
	lost bool
}

func (k *lossyKV) Txn(ctx context.Context, r *pb.TxnRequest, o ...grpc.CallOption) (*pb.TxnResponse, error) {
	resp, err := k.KVClient.Txn(ctx, r, o...)
	if !k.lost {
		k.lost = true
		return nil, status.Error(codes.Unavailable, "the answer is lost")
	}
	return resp, err
}

// An overtakenKV calls meanwhile before the next transaction.
type overtakenKV struct {
	pb.KVClient
	meanwhile func()
}

func (k *overtakenKV) Txn(ctx context.Context, r *pb.TxnRequest, o ...grpc.CallOption) (*pb.TxnResponse, error) {
	if k.meanwhile != nil {
		k.meanwhile()
		k.meanwhile = nil
	}
	return k.KVClient.Txn(ctx, r, o...)
}

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
			if how == "answer lost" {
				breaker.etcd.c.kv = &lossyKV{KVClient: breaker.etcd.c.kv}
			} else {
				breaker.etcd.c.kv = &overtakenKV{breaker.etcd.c.kv, func() { drive.Release(t, a) }}
			}
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
