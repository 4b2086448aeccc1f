package zookeeper

import (
	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// Nodes of somebody else are recognized by what the answers have anyway. Our queues have a label.
// What is in a queue belongs to a session. A holder in unfair mode has written who it is.

// place is what a user can choose to get other nodes.
const place = "chroot"

func foreignNode(path string) error {
	return locks.Foreign("the node "+locks.Printable(path), nil, place)
}

// foreignLock returns an error if the node of a lock is not ours.
func foreignLock(n *node) error {
	switch {
	case ephemeral(n):
		return foreignHolder(n)
	case string(n.data) != queueLabel:
		return foreignNode(n.path)
	}
	return nil
}

// foreignQueue returns an error if a node cannot be a queue of ours, of which only the children
// were read. So of the label only the length is known; whoever deletes a queue reads it.
func foreignQueue(path string, stat zk.Stat) error {
	if ephemeral(&node{stat: stat}) || stat.DataLength == int32(len(queueLabel)) {
		return nil
	}
	return foreignNode(path)
}

// foreignEntry returns an error if an entry in a queue belongs to no session. It would never
// end.
func foreignEntry(n *node) error {
	if ephemeral(n) {
		return nil
	}
	return foreignNode(n.path)
}

// foreignHolder returns an error if a node that belongs to a session is no holder's in unfair
// mode.
func foreignHolder(n *node) error {
	if queue.IsLabel(n.data) {
		return nil
	}
	return foreignNode(n.path)
}
