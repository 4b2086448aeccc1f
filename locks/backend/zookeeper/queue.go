package zookeeper

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// sequenceMark stands between the GUID that we choose and the number that the server
// appends to the name of a node.
const sequenceMark = "-n_"

// A queueNode is a node in a queue.
type queueNode struct {
	name, guid string
	number     int32
	czxid      int64 // 0: not yet read
}

// queueNodes returns the nodes of a queue, ordered by number, and never by GUID. Names
// that are not leaderrun's are left out.
func queueNodes(names []string) []queueNode {
	var all []queueNode
	for _, name := range names {
		guid, digits, ok := strings.Cut(name, sequenceMark)
		number, err := strconv.ParseInt(digits, 10, 32)
		if ok && guid != "" && err == nil {
			all = append(all, queueNode{name: name, guid: guid, number: int32(number)})
		}
	}
	slices.SortFunc(all, func(a, b queueNode) int { return cmp.Compare(a.number, b.number) })
	return all
}

// unordered reports whether nodes sorted by number may not be in the order of their
// creation, because a counter has overflowed. What servers do then
// depends on their version (DataTree.createNode). Until 3.5 the least number
// follows the greatest. Since 3.6 a counter never falls, so the greatest number is
// repeated; but a request that is processed before the last one is
// applied gets the number after the last one's.
func unordered(all []queueNode) bool {
	return len(all) > 1 && (all[0].number < 0 || all[len(all)-1].number == math.MaxInt32)
}

// inOrder returns the nodes of a queue in the order of the transactions that created them.
// Their names show this order until the counter overflows. From then on, inOrder reads each
// node.
func (s *session) inOrder(ctx context.Context, queue string, names []string) ([]queueNode, error) {
	all := queueNodes(names)
	if !unordered(all) {
		return all, nil
	}
	errs := make([]error, len(all))
	concurrently(len(all), func(i int) { all[i].czxid, errs[i] = s.czxid(ctx, queue+"/"+all[i].name) })
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p queueNode) bool { return p.czxid == 0 }) // the node has just been deleted
	slices.SortFunc(all, func(a, b queueNode) int { return cmp.Compare(a.czxid, b.czxid) })
	return all, nil
}

// czxid returns the number of the transaction that created a node, or 0 if the node does
// not exist.
func (s *session) czxid(ctx context.Context, path string) (int64, error) {
	return ask(ctx, s, func(c *zk.Conn) (int64, error) {
		exists, stat, err := c.Exists(path)
		if err != nil || !exists {
			return 0, at(path, err)
		}
		return stat.Czxid, nil
	})
}

// A view is the state of a lock at some moment.
type view struct {
	own      *node  // our node; nil: none
	leads    bool   // our node leads
	head     *node  // the node that leads; nil: none, or ours
	watch    string // the node to wait for, if we do not lead
	queue    bool   // watch is a queue, and not a node in it
	waiters  int
	position int // our position in the queue, from 1; 0: unknown
}

// token returns the node's czxid, the number of the transaction that created it, or 0 if
// n is nil.
func (n *node) token() uint64 {
	if n == nil {
		return 0
	}
	return uint64(n.stat.Czxid)
}

// seen keeps a view for Await and Look, and returns it in the recipe's form.
func (e *entry) seen(v *view) queue.View {
	e.view = v
	return queue.View{Line: lineOf(v.head, v.waiters), Token: v.own.token(), Leads: v.leads, Position: v.position}
}

// lineOf returns the line of a queue with that many waiters.
func lineOf(head *node, waiters int) queue.Line {
	if head == nil {
		return queue.Line{}
	}
	return queue.Line{Head: &queue.Head{Token: head.token(), Label: head.data}, Waiters: waiters}
}
