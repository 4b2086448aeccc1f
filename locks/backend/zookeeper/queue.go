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

// mark stands between the GUID that we choose and the number that the server
// appends to the name of a node.
const mark = "-n_"

// A place is a node in a queue.
type place struct {
	name, guid string
	number     int32
	czxid      int64 // 0: nobody has asked for it
}

// places reads a list of nodes and puts them in order: that of their numbers,
// and never of their GUIDs. Names that no leaderrun gives are left out.
func places(names []string) []place {
	var all []place
	for _, name := range names {
		guid, digits, ok := strings.Cut(name, mark)
		number, err := strconv.ParseInt(digits, 10, 32)
		if ok && guid != "" && err == nil {
			all = append(all, place{name: name, guid: guid, number: int32(number)})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.number, b.number) })
	return all
}

// unordered reports that places sorted by number may not be in the order in
// which they were taken: a counter has come to its end. What servers do then
// depends on their version (DataTree.createNode). Until 3.5 the least number
// follows the greatest. Since 3.6 a counter never falls, so the greatest number is
// given again and again; but a request that is processed while the one before it
// is not yet applied gets the number after that one's.
func unordered(all []place) bool {
	return len(all) > 1 && (all[0].number < 0 || all[len(all)-1].number == math.MaxInt32)
}

// inOrder returns the places in a queue from a list of its nodes. Their order is
// that of the transactions that created them, which the names tell until the
// counter comes to its end. From then on each node is looked at.
func (s *session) inOrder(ctx context.Context, queue string, names []string) ([]place, error) {
	all := places(names)
	if !unordered(all) {
		return all, nil
	}
	errs := make([]error, len(all))
	inTurns(len(all), func(i int) { all[i].czxid, errs[i] = s.czxid(ctx, queue+"/"+all[i].name) })
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p place) bool { return p.czxid == 0 }) // it has just gone
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.czxid, b.czxid) })
	return all, nil
}

// czxid is the number of the transaction that created a node; 0: there is none.
func (s *session) czxid(ctx context.Context, path string) (int64, error) {
	return ask(ctx, s, func(c *zk.Conn) (int64, error) {
		there, stat, err := c.Exists(path)
		if err != nil || !there {
			return 0, at(path, err)
		}
		return stat.Czxid, nil
	})
}

// A view is what is known of a lock at some moment.
type view struct {
	own      *node  // ours; nil: there is none
	leads    bool   // ours does
	head     *node  // that leads; nil: nobody does, or we do
	watch    string // what to wait for, if we do not lead
	queue    bool   // that is a queue, and not a node in it
	waiters  int
	position int // ours in the queue, from 1; 0: not known
}

// token is the node's czxid: the number of the transaction that created it. That of
// none is 0.
func (n *node) token() uint64 {
	if n == nil {
		return 0
	}
	return uint64(n.stat.Czxid)
}

// seen keeps a view for what follows, and returns it as the recipe has it.
func (e *entry) seen(v *view) queue.View {
	e.view = v
	return queue.View{Line: lineOf(v.head, v.waiters), Token: v.own.token(), Leads: v.leads, Position: v.position}
}

// lineOf is a queue with that many who wait.
func lineOf(head *node, waiters int) queue.Line {
	if head == nil {
		return queue.Line{}
	}
	return queue.Line{Head: &queue.Head{Token: head.token(), Label: head.data}, Waiters: waiters}
}
