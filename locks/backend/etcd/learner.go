package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// A learner is a member without a vote. It refuses all requests that locks need, at once
// and without effect, so the next member can get them. We keep its connection, because it
// may get its vote at any time.

// byLearner reports whether a learner refused a request.
func byLearner(err error) bool {
	return err != nil && rpctypes.ErrorDesc(err) == rpctypes.ErrorDesc(rpctypes.ErrGRPCNotSupportedForLearner)
}

// retryElsewhere returns a refusal as an error that another attempt may not meet. Servers
// of 3.5 send a learner's refusal as such an error, others as a final one.
func retryElsewhere(refusal error) error {
	return status.Error(codes.Unavailable, rpctypes.ErrorDesc(refusal))
}

// learnerPause is the least time between two attempts of clientv3 to watch.
const learnerPause = 20 * time.Millisecond

// passLearners makes clientv3 use another member for a watch that a learner refuses.
func passLearners(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, conn, method, opts...)
	if err != nil || method != pb.Watch_Watch_FullMethodName {
		return s, err
	}
	return learnerStream{s}, nil
}

type learnerStream struct{ grpc.ClientStream }

func (s learnerStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if byLearner(err) {
		_ = backoff.Sleep(s.Context(), learnerPause)
		err = retryElsewhere(err)
	}
	return err
}
