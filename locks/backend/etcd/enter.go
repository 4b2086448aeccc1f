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

// Enter implements [queue.Entry]: it gets a lease and a place in the queue.
func (e *entry) Enter(ctx context.Context, try bool) (queue.View, error) {
	var v *view
	again := false
	err := e.persist(ctx, func(ctx context.Context) (err error) {
		v, err = e.attempt(ctx, try, again)
		again = true
		return err
	})
	switch {
	case err != nil:
		return queue.View{}, err
	case v.own != nil:
		e.entered.Store(v.own.CreateRevision)
	case !try: // it was made, and is gone already
		return queue.View{}, errDeleted
	}
	return e.seen(v), nil
}

// attempt enters once. With try it reads first: a lock that is held, which is
// what most of a fleet finds, then costs the cluster no write.
func (e *entry) attempt(ctx context.Context, try, again bool) (*view, error) {
	join := e.join
	if try {
		if v, err := e.peek(ctx); err != nil || v.head != nil && string(v.head.Key) != e.key {
			return v, err
		}
		join = e.joinEmpty
	}
	if again {
		return e.grantThen(ctx, join)
	}
	return e.grantBeside(ctx, join)
}

// A joiner enters the queue.
type joiner func(context.Context, ...grpc.CallOption) (*view, error)

// grantBeside asks for the lease and for the place at the same time, which
// mostly saves a round trip. If the place's request overtakes the lease's, it
// fails for want of a lease, and is sent again.
func (e *entry) grantBeside(ctx context.Context, join joiner) (*view, error) {
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

// grantThen asks for one after the other. When attempts are repeated, requests
// that go out in pairs could for ever meet the same of two members.
func (e *entry) grantThen(ctx context.Context, join joiner) (*view, error) {
	if err := e.grant(ctx); err != nil {
		return nil, err
	}
	return e.track(func(p grpc.CallOption) (*view, error) { return join(ctx, p) })
}

// grant gets the lease, or finds that we have it already.
func (e *entry) grant(ctx context.Context) error {
	if e.TTL() > 0 {
		return nil
	}
	seconds := int64((e.o.TTL + time.Second - 1) / time.Second)
	var granted int64
	_, err := e.track(func(p grpc.CallOption) (*view, error) {
		resp, err := call(ctx, e.c, e.c.lease.LeaseGrant, &pb.LeaseGrantRequest{ID: e.id, TTL: seconds}, p)
		granted = resp.GetTTL()
		return nil, err
	})
	if errors.Is(err, rpctypes.ErrLeaseExist) { // an earlier request's answer was lost
		var resp *pb.LeaseTimeToLiveResponse
		resp, err = call(ctx, e.c, e.c.lease.LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: e.id})
		granted = resp.GetGrantedTTL()
	}
	if err != nil {
		return err
	}
	if granted <= 0 {
		return fmt.Errorf("the server granted a lease of %d seconds", granted)
	}
	e.Granted(time.Duration(granted) * time.Second)
	return nil
}

// track notes whether a request was sent at all, in which case there may be
// something to undo.
func (e *entry) track(send func(grpc.CallOption) (*view, error)) (*view, error) {
	var p peer.Peer
	v, err := send(grpc.Peer(&p))
	if err == nil || p.Addr != nil {
		e.sent.Store(true)
	}
	return v, err
}
