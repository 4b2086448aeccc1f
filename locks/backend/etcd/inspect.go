package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// leftTimeout bounds the wait for what is left of a lease. Inspect has all the rest
// by then.
const leftTimeout = 500 * time.Millisecond

// Inspect implements [queue.Store], with one request, and one more if the lock
// is held. Status.Start is not known: an entry that was released leaves no more behind
// than one whose lease has ended.
func (l *lock) Inspect(ctx context.Context) (locks.State, error) {
	resp, err := l.get(ctx, l.rangeFirst(1+locks.MaxQueue))
	if err != nil || len(resp.Kvs) == 0 {
		return locks.State{}, err
	}
	line := lineOf(resp.Kvs[0], int(resp.Count))
	s := locks.State{Status: line.Status()}
	s.Left = l.left(ctx, resp.Kvs[0].Lease)
	for _, kv := range resp.Kvs[1:] {
		s.Queue = append(s.Queue, queue.ReadPlace(kv.Value))
	}
	return s, nil
}

// left asks what is left of a lease, which the server tells in whole seconds. It is
// 0, not known, in the last second, when the lease has ended since we saw it, and
// when there is no answer soon.
func (l *lock) left(ctx context.Context, lease int64) time.Duration {
	if lease == 0 {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, leftTimeout)
	defer cancel()
	resp, err := call(ctx, l.c, l.c.lease.LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: lease})
	if err != nil {
		l.log.Debug("cannot ask what is left of the lease", "err", plain(err))
		return 0
	}
	return max(time.Duration(resp.TTL)*time.Second, 0)
}
