package etcd

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backoff"
)

var errWatchEnded = errors.New("the watch ended")

// wait waits in the queue until our entry is the first. It watches only the
// entry just before ours, so that a release wakes one waiter and not all.
func (e *entry) wait(ctx context.Context, v *view) error {
	created := v.own.CreateRevision
	e.guard(created, 0)
	ctx, cancel := e.untilOver(ctx)
	defer cancel()
	for pause := new(backoff.Backoff); ; {
		e.tell(v)
		var err error
		if v, err = e.change(ctx, v, pause); err != nil {
			return err
		}
		if v.own == nil {
			e.lose(errDeleted)
			return errDeleted
		}
		if v.leads() {
			e.restampLazily(created)
			return nil
		}
	}
}

// change waits until the queue before us has changed, and returns it as it is
// then.
//
// A watch that ends for whatever reason (a lost connection that cannot be
// resumed, a compacted revision, a member without a leader) means the same as
// an event: look at the queue again. That is repeated until there is an answer.
func (e *entry) change(ctx context.Context, v *view, pause *backoff.Backoff) (*view, error) {
	e.awaits(string(v.before.Key))
	err := e.watchGone(ctx, string(v.before.Key), v.revision+1)
	e.awaits("")
	if err == nil {
		pause.Reset()
		if ctx.Err() != nil { // our patience ended while all was well
			return nil, &locks.HeldError{Status: v.status()}
		}
	}
	for warned := false; ; {
		if err == nil {
			var next *view
			if next, err = e.lookOnce(ctx, v.own.CreateRevision); err == nil {
				return next, nil
			}
			if !transient(err) {
				return nil, err
			}
		}
		if !warned {
			e.log.Warn("the wait is disturbed; trying again", "err", plain(err))
			warned = true
		}
		if pause.Wait(ctx) != nil {
			return nil, err
		}
		err = nil
	}
}

// lookOnce looks at the queue, but does not wait for ever for one member.
func (e *entry) lookOnce(ctx context.Context, created int64) (*view, error) {
	ctx, cancel := e.c.attempt(ctx)
	defer cancel()
	return e.look(ctx, created)
}

// watchGone returns nil when a key that existed before a revision is deleted, as the watch
// or a renewal tells, or the context has ended, and else why it cannot watch.
func (e *entry) watchGone(ctx context.Context, key string, revision int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := e.c.watch(ctx, "before", key, clientv3.WithRev(revision), clientv3.WithFilterPut())
	for {
		select {
		case resp, ok := <-events:
			switch err := resp.Err(); {
			case ctx.Err() != nil, len(resp.Events) > 0:
				return nil
			case err != nil:
				return err
			case !ok:
				return errWatchEnded
			}
		case <-e.moved:
			return nil
		}
	}
}

// tell says what we wait for.
func (e *entry) tell(v *view) {
	if e.o.Waiting != nil {
		e.o.Waiting(locks.Waiting{Status: v.status(), Lease: e.granted(), Position: v.position()})
	}
}
