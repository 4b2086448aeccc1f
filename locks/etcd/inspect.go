package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/record"
)

// Abilities implements [locks.Able].
func (l *Lock) Abilities(context.Context) ([]locks.Ability, error) {
	return []locks.Ability{
		locks.CanInspect, locks.CanQueue, locks.CanRecord, locks.CanAsk,
		locks.CanList,
	}, nil
}

// Inspect implements [locks.Inspector], with one request.
func (l *Lock) Inspect(ctx context.Context) (locks.State, error) {
	resp, err := persist(ctx, l, func(ctx context.Context, _ bool) (*pb.RangeResponse, error) {
		return call(ctx, l.c, l.c.kv.Range, l.rangeFirst(1+locks.MaxQueue))
	})
	if err != nil {
		return locks.State{}, l.fail(ctx, "inspect", err)
	}
	if len(resp.Kvs) == 0 {
		return locks.State{}, nil
	}
	v := view{head: resp.Kvs[0], entries: int(resp.Count)}
	s := locks.State{Status: v.status()}
	for _, kv := range resp.Kvs[1:] {
		s.Queue = append(s.Queue, record.Place(kv.Value))
	}
	return s, nil
}

var (
	_ locks.Able      = (*Lock)(nil)
	_ locks.Inspector = (*Lock)(nil)
)
