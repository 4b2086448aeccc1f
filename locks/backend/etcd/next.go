package etcd

import clientv3 "go.etcd.io/etcd/client/v3"

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
