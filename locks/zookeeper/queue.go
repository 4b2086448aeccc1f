package zookeeper

import (
	"slices"
	"strconv"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/record"
)

// mark stands between the GUID that we choose and the number that the server
// appends to the name of a node.
const mark = "-n_"

// A place is a node in a queue.
type place struct {
	name, guid string
	number     int32
}

// places reads a list of nodes and puts them in order: that of their numbers,
// and never of their GUIDs. Names that no leaderrun gives are left out.
func places(names []string) []place {
	var all []place
	for _, name := range names {
		guid, digits, ok := strings.Cut(name, mark)
		number, err := strconv.ParseInt(digits, 10, 32)
		if ok && guid != "" && err == nil {
			all = append(all, place{name, guid, int32(number)})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return order(a.number, b.number) })
	return all
}

// order compares numbers of a counter of 32 bits that begins again at its least
// value after its greatest (RFC 1982). It is right as long as there are less
// than 2³¹ nodes between the two.
func order(a, b int32) int { return int(a - b) }

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

// token is the node's czxid: the number of the transaction that created it.
func (n *node) token() uint64 { return uint64(n.stat.Czxid) }

// status is what the leading node says.
func (v *view) status() locks.Status {
	if v.head == nil {
		return locks.Status{}
	}
	s := record.Status(v.head.data, v.head.token())
	s.Waiters = v.waiters
	return s
}
