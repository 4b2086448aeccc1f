package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// leftTimeout bounds the wait for the time left of a lease. Inspect has everything else by
// then.
const leftTimeout = 500 * time.Millisecond

// Inspect implements [queue.Store] with one request, and one more if the lock
// is held. Status.Start is unknown: after a release, the queue looks the same as after the
// end of a lease.
func (l *lock) Inspect(ctx context.Context) (locks.State, error) {
	resp, err := l.get(ctx, l.rangeFirst(1+locks.MaxQueue))
	if tooLong(err) { // somebody has written long labels; each has at most 1.5 MiB
		resp, err = l.get(ctx, l.rangeFirst(1+locks.MaxQueue/4))
	}
	if err != nil || len(resp.Kvs) == 0 {
		return locks.State{}, err
	}
	if err := l.foreign(resp.Kvs[0]); err != nil {
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

// left returns the time left of a lease, which the server reports in whole seconds. It
// returns 0, unknown, in the last second, if the lease has ended, and if there is no
// answer soon.
func (l *lock) left(ctx context.Context, lease int64) time.Duration {
	if lease == 0 {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, leftTimeout)
	defer cancel()
	resp, err := call(ctx, l.c, l.c.lease.LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: lease})
	if err != nil {
		l.log.Debug("cannot read the time left of the lease", "err", plain(err))
		return 0
	}
	return max(time.Duration(resp.TTL)*time.Second, 0)
}
