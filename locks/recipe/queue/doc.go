// Package queue makes a lock of any server that has sessions and an order: etcd's keys with a
// lease, ZooKeeper's ephemeral nodes. Such a backend is a [Store] and its [Entry], which say
// how to talk to the server. The life of a campaign is here.
//
// A lock is a queue of entries. Each entry belongs to a session of its own, which is its
// lease: the server deletes the entry when the session ends. The oldest entry leads. Its
// token is the number that the server gave it, and these numbers never fall.
//
// # The life of a campaign
//
// A [Campaign] makes one entry. It is over when the entry was given up, failed, was released,
// or was lost. A loss shows in a renewal, in the watch of our own entry, in a look at the
// queue, or in a refused write. Whichever comes first ends the campaign, once. From then on
// the handle cannot be used, Lost reports the reason, and the only request that is still sent
// is the one that ends the session.
//
// A campaign that fails ends its session, even if the caller's context has ended. A handle has
// one campaign, but a try that was refused, which made no entry, may be repeated.
//
// A waiter watches only the entry just before its own. After an event it looks at the queue,
// unless the event proves that it leads. If the watch ends, for whatever reason, this is
// treated like an event. The waiter repeats the look until it has an answer. We watch our own
// entry as soon as we wait, or if we lead at once, shortly after that: a short job does
// without the watch.
//
// # Records and requests
//
// The server writes a record, and leaves a request, only if an entry leads in the step that
// writes. The holder gets each request once, by its nonce, and only if it has the token of
// the holder's own entry.
package queue
