// Package queue makes a lock of any server that keeps sessions and an order: etcd's keys
// with a lease, ZooKeeper's ephemeral nodes. Such a backend is a [Store] and its [Place],
// which say how the server is spoken with. What becomes of a campaign is here.
//
// A lock is a queue of entries. Each belongs to a session of its own, which is its lease:
// the server deletes the entry when the session ends, and the entry that was made first
// leads. Its token is what the server numbers entries by, a number that never falls.
//
// # The life of an entry
//
// A campaign makes one entry, and is over with it: when it was given up, failed, was
// released, or was lost. Whoever learns that it is lost, by a renewal, the watch of our own
// entry, a look at the queue or a refused write, ends it, once: the handle is of no more
// use from then on, Lost tells why, and nothing is sent any more but what ends the session.
//
// A campaign that fails ends its session, whether the caller still has patience or not.
// What that does not reach is tried again before the next campaign, as the old entry may
// stand before the new one.
//
// Who waits watches only what is just before. That a watch has ended for whatever reason
// means the same as an event: to look at the queue again, as often as it takes. Our own
// entry is watched from the moment when we wait, or soon after we lead: a short job does
// without.
//
// # Beside the lock
//
// A record is written, and a request left, on the condition that an entry leads, which the
// server checks in the step that writes. The holder hears a request once, by its nonce,
// and only with the token of its own entry.
package queue
