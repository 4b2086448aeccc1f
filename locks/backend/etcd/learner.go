package etcd

import (
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
