package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// Enter implements [queue.Entry]: it gets a lease, and enters the queue.
func (e *entry) Enter(ctx context.Context, try bool) (queue.View, error) {
	e.lock.c.conns.urgent.Store(false)
	var v *view
	again := false
	err := e.lock.retry(ctx, func(ctx context.Context) (err error) {
		v, err = e.attempt(ctx, try, again)
		again = true
		return err
	})
	if err == nil {
		err = e.lock.foreign(v.head)
	}
	switch {
	case err != nil:
		return queue.View{}, err
	case v.own != nil:
		e.entered.Store(v.own.CreateRevision)
	case !try: // the entry was created, and has already been deleted
		return queue.View{}, errDeleted
	}
	return e.seen(v), nil
}

// attempt tries once to enter. With try it reads first, because most of a fleet finds the
// lock held, which then costs the cluster no write.
func (e *entry) attempt(ctx context.Context, try, again bool) (*view, error) {
	join := e.join
	if try {
		if v, err := e.peek(ctx); err != nil || v.head != nil && string(v.head.Key) != e.key {
			return v, err
		}
		join = e.joinEmpty
	}
	if again {
		return e.grantThenJoin(ctx, join)
	}
	return e.grantAndJoin(ctx, join)
}

// A joiner enters the queue.
type joiner func(context.Context, ...grpc.CallOption) (*view, error)

// grantAndJoin requests the lease and the entry at the same time, which usually saves a
// round trip. If the request for the entry arrives first, it fails because there is no
// lease, and is repeated.
func (e *entry) grantAndJoin(ctx context.Context, join joiner) (*view, error) {
	granted := make(chan error, 1)
	go func() { granted <- e.grant(ctx) }()
	v, err := e.track(func(p grpc.CallOption) (*view, error) { return join(ctx, p) })
	if gerr := <-granted; gerr != nil {
		return nil, gerr
	}
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return join(ctx)
	}
	return v, err
}

// grantThenJoin requests the lease and then the entry. If attempts repeated both at the
// same time, each of the two could go to the same of two members forever.
func (e *entry) grantThenJoin(ctx context.Context, join joiner) (*view, error) {
	if err := e.grant(ctx); err != nil {
		return nil, err
	}
	return e.track(func(p grpc.CallOption) (*view, error) { return join(ctx, p) })
}

// grant gets the lease, unless we already have it.
func (e *entry) grant(ctx context.Context) error {
	if e.campaign.TTL() > 0 {
		return nil
	}
	seconds := int64((e.lock.o.TTL + time.Second - 1) / time.Second)
	var granted int64
	_, err := e.track(func(p grpc.CallOption) (*view, error) {
		resp, err := call(ctx, e.lock.c, e.lock.c.lease.LeaseGrant, &pb.LeaseGrantRequest{ID: e.id, TTL: seconds}, p)
		granted = resp.GetTTL()
		return nil, err
	})
	if errors.Is(err, rpctypes.ErrLeaseExist) { // the answer to an earlier request was lost
		var resp *pb.LeaseTimeToLiveResponse
		resp, err = call(ctx, e.lock.c, e.lock.c.lease.LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: e.id})
		granted = resp.GetGrantedTTL()
	}
	if err != nil {
		return err
	}
	if granted <= 0 {
		return fmt.Errorf("the server granted a lease of %d seconds", granted)
	}
	e.campaign.Granted(time.Duration(granted) * time.Second)
	return nil
}

// track notes whether a request was sent: if so, there may be something to undo.
func (e *entry) track(send func(grpc.CallOption) (*view, error)) (*view, error) {
	var p peer.Peer
	v, err := send(grpc.Peer(&p))
	if err == nil || p.Addr != nil {
		e.sent.Store(true)
	}
	return v, err
}
