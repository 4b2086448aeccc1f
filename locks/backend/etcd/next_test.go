package etcd

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A history is what happens to the keys of some queues, as a server would store it.
type history struct {
	*rand.Rand
	now    int64
	keys   map[string]int64 // the revision that created each key that exists
	events []*clientv3.Event
}

// step makes one revision, which writes or deletes up to three keys.
func (h *history) step() {
	h.now++
	for _, i := range h.Perm(8)[:1+h.IntN(3)] {
		key := fmt.Sprintf("/q/%d", i)
		if i >= 6 {
			key = fmt.Sprintf("/other/%d", i)
		}
		created, exists := h.keys[key]
		ev := &clientv3.Event{Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: h.now}}
		switch {
		case exists && h.IntN(3) > 0:
			ev.Type = clientv3.EventTypeDelete
			delete(h.keys, key)
		case exists:
			ev.Kv.CreateRevision = created
		case h.IntN(2) > 0:
			continue
		default:
			h.keys[key], ev.Kv.CreateRevision = h.now, h.now
		}
		h.events = append(h.events, ev)
	}
}

// queue returns the entries, the oldest first.
func (h *history) queue() (all []*mvccpb.KeyValue) {
	for key, created := range h.keys {
		if key < "/r" && key > "/q" {
			all = append(all, &mvccpb.KeyValue{Key: []byte(key), CreateRevision: created})
		}
	}
	slices.SortFunc(all, func(a, b *mvccpb.KeyValue) int {
		return cmp.Or(cmp.Compare(a.CreateRevision, b.CreateRevision), cmp.Compare(string(a.Key), string(b.Key)))
	})
	return all
}

// look returns the view of one entry in a queue. An operator may have created others in the
// same revision as each other, but not as ours.
func (h *history) look(all []*mvccpb.KeyValue, own *mvccpb.KeyValue) *view {
	v := &view{revision: h.now, term: 2, own: own, head: all[0], entries: len(all)}
	var ahead []*mvccpb.KeyValue
	for _, kv := range all {
		if kv.CreateRevision < own.CreateRevision {
			ahead = append(ahead, kv)
		}
	}
	if n := len(ahead); n > 0 {
		v.before, v.next = ahead[n-1], n == 1
	}
	return v
}

// answer returns what a watch of the view reports of the next few revisions.
func (h *history) answer(v *view) clientv3.WatchResponse {
	h.events = nil
	for range 1 + h.IntN(3) {
		h.step()
	}
	resp := clientv3.WatchResponse{Header: &pb.ResponseHeader{Revision: h.now, RaftTerm: 2}}
	for _, ev := range h.events {
		key := string(ev.Kv.Key)
		if v.next && key > "/q" && key < "/r" || key == string(v.before.Key) {
			resp.Events = append(resp.Events, ev)
		}
	}
	return resp
}

// TestNextInLine draws histories, and compares what a waiter concludes from its watch with
// the queue.
func TestNextInLine(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	for seed := range uint64(20_000) {
		h := &history{Rand: rand.New(rand.NewPCG(seed, 0)), keys: map[string]int64{}}
		for range 2 + h.IntN(10) {
			h.step()
		}
		all := h.queue()
		if len(all) == 0 {
			continue
		}
		own := all[len(all)-1]
		if len(all) > 1 && all[len(all)-2].CreateRevision == own.CreateRevision {
			continue
		}
		for v := h.look(all, own); v.before != nil; {
			after := v.after(h.answer(v))
			all = h.queue()
			exists := h.keys[string(own.Key)] == own.CreateRevision
			leads := exists && all[0].CreateRevision == own.CreateRevision
			switch {
			case after == v && v.next && (leads || !exists):
				t.Fatalf("seed %d: nothing is new, but the entry exists: %t; leads: %t", seed, exists, leads)
			case after == v:
				continue
			case after.leads() && !leads:
				t.Fatalf("seed %d: it does not lead; it exists: %t", seed, exists)
			case after.leads():
				found["leads"]++
			case leads && v.next && h.keys[string(v.before.Key)] == 0 && !after.leads():
				t.Fatalf("seed %d: it leads, but has to look", seed)
			default:
				found["must look"]++
			}
			break
		}
	}
	if found["leads"] < 1000 || found["must look"] < 1000 {
		t.Errorf("too few cases: %v", found)
	}
}

// TestAnswers has what the histories do not.
func TestAnswers(t *testing.T) {
	t.Parallel()
	v := &view{
		revision: 10, term: 2, next: true, entries: 2,
		own:    &mvccpb.KeyValue{Key: []byte("/q/2"), CreateRevision: 9},
		before: &mvccpb.KeyValue{Key: []byte("/q/1"), CreateRevision: 8},
	}
	v.head = v.before
	gone := func(key string, revision int64) *clientv3.Event {
		return &clientv3.Event{Type: clientv3.EventTypeDelete, Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: revision}}
	}
	behind := *v
	behind.next = false
	for _, c := range []struct {
		what   string
		view   *view
		term   uint64
		events []*clientv3.Event
		want   string
	}{
		{"the head is gone", v, 2, []*clientv3.Event{gone("/q/1", 12)}, "leads"},
		{"in another term of the cluster", v, 3, []*clientv3.Event{gone("/q/1", 12)}, "must look"},
		{"in an event before the view", v, 2, []*clientv3.Event{gone("/q/1", 10)}, "as before"},
		{"the entry before ours is not the head", &behind, 2, []*clientv3.Event{gone("/q/1", 12)}, "must look"},
		{"a progress report", v, 2, nil, "as before"},
		{"we are gone", v, 2, []*clientv3.Event{gone("/q/2", 12)}, "must look"},
		{"and then the head", v, 2, []*clientv3.Event{gone("/q/2", 12), gone("/q/1", 13)}, "must look"},
		{"the head and then we", v, 2, []*clientv3.Event{gone("/q/1", 12), gone("/q/2", 13)}, "must look"},
		{"another and then the head", v, 2, []*clientv3.Event{gone("/q/3", 12), gone("/q/1", 13)}, "leads"},
	} {
		got := "must look"
		switch after := c.view.after(clientv3.WatchResponse{Header: &pb.ResponseHeader{Revision: 13, RaftTerm: c.term}, Events: c.events}); {
		case after == c.view:
			got = "as before"
		case after.leads():
			got = "leads"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}
