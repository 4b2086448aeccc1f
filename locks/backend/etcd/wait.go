package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

var errWatchEnded = errors.New("the watch ended")

// A brokenWatch says why a watch ended: a connection that cannot be resumed, a compacted
// revision, or a member without a leader. Another watch may succeed after any of these.
type brokenWatch struct{ error }

// Await implements [queue.Entry]. It watches only the entry just before ours, so that a
// release wakes only one waiter. Who is next watches the deletions of all entries.
func (e *entry) Await(ctx context.Context) error {
	before := string(e.view.before.Key)
	e.ahead.Store(&before)
	defer e.ahead.Store(nil)
	if err := e.watchAhead(ctx); err != nil {
		return brokenWatch{err}
	}
	return nil
}

// Look implements [queue.Entry]. If Await has seen that we lead, it sends no request.
func (e *entry) Look(ctx context.Context) (queue.View, error) {
	if e.view != nil && e.view.leads() {
		return e.seen(e.view), nil
	}
	v, err := e.lookOnce(ctx)
	if err != nil {
		return queue.View{}, err
	}
	return e.seen(v), nil
}

// lookOnce looks at the queue once, and does not wait too long for one member.
func (e *entry) lookOnce(ctx context.Context) (*view, error) {
	ctx, cancel := e.lock.c.attempt(ctx)
	defer cancel()
	v, err := e.look(ctx, e.entered.Load())
	if err == nil && v.own == nil {
		err = errDeleted
	}
	if err == nil {
		err = e.lock.foreign(v.head)
	}
	return v, err
}

// watchAhead returns nil when the watch or a renewal shows that the view is no longer true,
// or when ctx ends. Otherwise it returns why it cannot watch.
func (e *entry) watchAhead(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	key, o := string(e.view.before.Key), []clientv3.OpOption{clientv3.WithRev(e.view.revision + 1)}
	if e.view.next {
		key, o = e.lock.queue, append(o, clientv3.WithRange(string(e.lock.queueEnd())), clientv3.WithFilterPut())
	}
	events := e.lock.c.watch(ctx, "before", key, o...)
	for {
		select {
		case resp, ok := <-events:
			switch err := resp.Err(); {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				return err
			case !ok:
				return errWatchEnded
			}
			if v := e.view.after(resp); v != e.view {
				e.view = v
				return nil
			}
		case <-e.moved:
			return nil
		}
	}
}

// A view is the state of the queue according to one answer.
type view struct {
	revision int64            // of the store, at that moment
	term     uint64           // of the cluster's leader, at that moment
	own      *mvccpb.KeyValue // our entry; nil: none
	head     *mvccpb.KeyValue // the entry that leads; nil: none
	before   *mvccpb.KeyValue // the entry just before ours; nil: none
	next     bool             // no other entry is before ours
	entries  int              // the number of entries
	fresh    bool             // our entry was the last at that moment
}

// leads reports whether our entry is the first. Comparing keys is not enough: the first
// must be the entry that we created.
func (v *view) leads() bool {
	return v.own != nil && v.head != nil && v.before == nil &&
		string(v.head.Key) == string(v.own.Key) && v.head.CreateRevision == v.own.CreateRevision
}

// seen keeps a view for Await, and returns it in the recipe's form.
func (e *entry) seen(v *view) queue.View {
	e.view = v
	return queue.View{Line: lineOf(v.head, v.entries), Token: uint64(v.own.GetCreateRevision()), Leads: v.leads(), Position: v.position()}
}

// position returns our position in the queue, or 0 if the view does not show it.
func (v *view) position() int {
	switch {
	case v.fresh:
		return v.entries - 1 // our entry is the last
	case v.next:
		return 1
	}
	return 0
}

// after returns the view after an answer to its watch: the same view if nothing of it has
// changed, a view that leads if the answer proves that we do, or else an empty one, after
// which only a look at the queue can tell. The package's documentation has the proof.
func (v *view) after(resp clientv3.WatchResponse) *view {
	if len(resp.Events) == 0 {
		return v
	}
	gone := map[string]bool{}
	for _, ev := range resp.Events {
		if ev.Type == clientv3.EventTypeDelete && ev.Kv.ModRevision > v.revision {
			gone[string(ev.Kv.Key)] = true
		}
	}
	own, before := gone[string(v.own.Key)], gone[string(v.before.Key)]
	switch {
	case v.next && !own && !before: // a waiter behind us has left
		return v
	case v.next && !own && resp.Header.GetRaftTerm() == v.term:
		return &view{own: v.own, head: v.own, entries: v.entries - 1}
	}
	return &view{}
}
