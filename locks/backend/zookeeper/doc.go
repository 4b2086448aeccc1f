// Package zookeeper keeps locks in ZooKeeper, versions 3.5 to 3.9.
//
// In fair mode, the default, a lock is a queue: a node with one ephemeral child for each
// contender, numbered by the server. The lowest number leads, and each contender watches
// only the node just before its own, so a release wakes one waiter, however many there
// are. With mode=unfair a lock is one ephemeral node: the contender that creates it
// leads, and all others watch it. This mode saves a waiter some requests and the queue,
// but wakes every waiter at each release: it is for a few contenders that do not mind
// their order. If contenders use different modes, they still exclude each other.
//
// Each contender has its own session, which is its lease. A release closes
// the session: this deletes the contender's nodes and nothing else, in one step.
//
// # URL
//
//	zk://[user:password@]host[:port][,host[:port]…][/chroot][?parameters]
//
// The default port is 2181; if one of several hosts has a port, the last must have one. A
// name with several addresses means all of them. The chroot, the node above all others, is
// /leaderrun by default. leaderrun-backends(7) has the parameters.
//
// All certificates are read again for each connection, so their files may be
// replaced while a job runs.
//
// Settings that the URL omits come from variables: ZK_HOSTS (for a URL without a
// host, such as "zk:": a list of host:port as ZooKeeper's own tools take it,
// with or without a chroot at its end), ZK_AUTH (user:password; it, or a file,
// is the best place for a password), LEADERRUN_ZK_CHROOT, LEADERRUN_ZK_CACERT,
// LEADERRUN_ZK_CERT and LEADERRUN_ZK_KEY. If CLIENT_JVMFLAGS or JVMFLAGS makes
// zkCli.sh speak TLS or log in with SASL, a setting of ours must say what to do instead.
//
// # Liveness
//
// The lease is the session's timeout, as granted: by default a server grants
// 2 to 20 of its ticks, that is, 4 s to 40 s (minSessionTimeout,
// maxSessionTimeout). The server counts in ticks and rounds up, so a session may end up to
// a tick late. Servers of an ensemble need the same limits.
//
// Only Renew extends the lease. The library would ping by itself, and reconnect,
// which also renews. So pings are not sent, and connections are made only for a
// request of the core. If the core sends no request, the session expires. We give it up
// when its timeout has passed without a renewal, whatever the server does.
//
// A renewal has to prove that the session lasts for its full timeout
// from some moment after the renewal was requested. The answer to an ordinary request
// proves less, as ZooKeeper's source shows (package org.apache.zookeeper.server):
//
//   - A read is answered by the server that we are connected to, from what it
//     knows, without asking the leader.
//   - The leader ends sessions. A follower notes which sessions were active
//     (LearnerSessionTracker.touchSession), and reports them when the leader pings
//     it, every half tick (Leader.lead, Learner.ping). If the follower is cut off
//     before, the leader never learns of activity since the last ping.
//   - A write through a follower is no better: the leader checks
//     whether the session exists (PrepRequestProcessor, checkSession), and does
//     not extend it. Only requests of the leader's own clients do
//     (ZooKeeperServer.submitRequestNow, touch).
//   - Resuming a session on a new connection does reach the leader, which
//     extends the session at once and for its full timeout before it answers
//     (Learner.validateSession, Leader.revalidateSession, touchSession).
//   - But that leader may have lost its quorum without knowing it
//     yet. A new leader gives each session its full timeout
//     when it begins (SessionTrackerImpl), which may be before our request. A sync
//     does not show this either: a leader answers it without its quorum
//     (Leader.processSync, ZOOKEEPER-1675).
//   - A transaction is committed only when a quorum has acknowledged it, and
//     later leaders begin after that.
//
// So a renewal resumes the session on a new connection, and then commits on it a
// transaction that changes nothing: a multi request that only
// checks that our node exists. The first proves that the leader has extended
// the session, the second that it was the leader. A server that is the leader,
// or the only one, does the same. A renewal costs a connection, and a write of some 100
// bytes to each log. With TLS the connection resumes the TLS session of the last one.
// Waiters do the same, because the first deadline of their term counts
// from their last renewal; 100 of them with a renewal every 3 s make some 30
// small transactions a second.
//
// With several hosts, or a name with several addresses, the next one is tried
// when a connection or a renewal fails. Names are looked up again for each
// round. None of several addresses gets more than half of the time that a renewal has
// left. A waiter whose connection has broken learns of a hand-over with
// its next renewal.
//
// # Inspecting, record and requests
//
// These operations use a separate session, which ends with the call:
// each request extends the session that it belongs to, and only Renew may extend
// a lease. A transaction that changes nothing comes before a read, for the
// reason given above: unlike an answer to a sync, an answer to it proves a
// quorum, and the server that we read from has then applied everything that was
// committed before.
//
// The record of a lock is the persistent node NAME%record, next
// to the lock's node NAME. A "/" in the NAME is written %2F and a "#" %23; a NAME has no
// other "%", so nodes of different locks never collide. No run deletes it.
//
// It is written in one transaction with a check of our node. In fair mode the name of our
// node has a random part. So it exists until our session ends or somebody deletes it, and
// until then nobody else leads.
//
// In unfair mode a check is not enough. Our session may live although
// an operator has deleted the node, and if another contender has created it
// again, it has the same path and, like all new nodes, the version 0. A transaction
// can check nothing else. So there are two:
//
//  1. Write the lock's node and the record, both unchanged, if they have the
//     versions that were read. The answer has the czxid of the lock's node: if
//     that is our token, the node was ours at that moment. Let its version then be
//     n ≥ 1, and the record's version r.
//  2. Write the new record, if the node has the version n and the record r.
//
// Suppose that the node is another's when the second is carried out. It was created
// after the first, with the version 0. Its version became n ≥ 1 by a write. Contenders
// write it only with the first step, which also writes the record, so the record no
// longer has the version r. So the second step writes nothing.
// If the node was already another's at the first step, that step changed nothing. (A
// record that was deleted and created again begins with the version 0. Somebody who
// deletes it by hand in between, or by Forget for a name that is in use, can break this.)
//
// In both modes the record is written only if it has the version that was read before.
// So a transaction that was repeated, and arrives after a later one, fails.
//
// A request to the holder is the persistent node NAME%ask, written in one
// transaction with a check that the holder's node exists. The holder watches
// it. The holder deletes a request that it has read, and those for earlier holders. The
// watch ends with each connection and starts again, which costs a renewal one
// small read. So a request that was left while the holder was cut off is delivered with
// its next renewal, and only once. To read and delete a request, the holder's session
// sends at most two requests. If nobody renews, these may make the session end later at
// the servers, but never more than a TTL after we have given it up.
//
// # The operator's view
//
// List reads the names below the chroot. A lock is a node whose name is an escaped lock's
// name, as described above, and that has a holder or a record. If we may not read one,
// the list fails: leaving it out would mean that it is free.
//
// Watch makes the server watch the lock's node, or the chroot, and all nodes below. This
// needs ZooKeeper 3.6; an older server is an ErrUsage. Its session lasts as long as
// the watch, and is kept alive by pings: it is not a lease. After an outage a
// change is reported, whether there was one or not.
//
// Break deletes the holder's node. In a queue no other node ever has the same name,
// so the name is condition enough. In unfair mode the next holder's node has
// the same path. So Break makes the first of the two transactions that write a
// record (see above), and instead of the second it deletes the node, if it has
// the version n and the record r. For the same reasons, another's
// node is never deleted. If another has taken the lock just before the first, its
// node gets the text of the old one, and its holder is shown under the name
// of the old one; there is no other harm, and Break fails. If there was no record,
// an unset one is left behind.
//
// Forget deletes queue, record and requests in one transaction; the server
// refuses to delete a queue that is not empty. To prove that nobody has the lock in
// unfair mode, the transaction creates a node where the holder's would be, or below it,
// which fails if the holder's node exists. The chroot stays.
//
// Probe asks each server for its public status ("srvr", the only one of ZooKeeper's
// four-letter commands that is allowed by default). It also has each server grant the
// shortest session and the longest, which shows the range of TTLs. ZooKeeper
// does not report its clock, nor the time left of a session.
//
// # Fencing token
//
// The token is the czxid of our node: the number of the transaction that
// created it, which rises with each transaction of the ensemble, and across
// changes of its leader. In a queue, a later contender has a node that was created
// later, so tokens rise from holder to holder. The number in the node's name is not a
// token: it begins again if an empty queue was deleted, and after 2³¹ nodes
// servers since 3.6 repeat the last one. From then on the czxids of
// a queue's nodes are compared instead of their names: each look at the queue reads
// all of its nodes, until the queue was empty for a minute.
//
// # Permissions
//
// If a user is given, only that user can read and write the nodes that we create
// (an ACL of the scheme "auth" with all permissions); otherwise anybody can. A user
// needs the permissions create, read, write and delete on the chroot, or, if
// that is missing, on the node above. All contenders for a lock need the same
// user. ZooKeeper accepts any password: a wrong one is another user, who has no
// permission on existing nodes.
//
// So changing a password means changing the owner of all nodes. The file of auth-file
// is read again for each session and each renewal; if it cannot be read, or has
// anything else, its last contents are used. A session has all users that were in the
// file since it began, and what it creates belongs to all of them, except its own node,
// which belongs to those at its beginning. Nobody is locked out if
//
//  1. the file has both users, one a line, wherever there are contenders;
//  2. after the next renewals, somebody with both gives them all nodes (in zkCli,
//     addauth digest USER:OLD, addauth digest USER:NEW, setAcl -R /leaderrun auth::cdrwa);
//  3. the old user is deleted from the file;
//  4. somebody with only the new one repeats that setAcl.
//
// If the old user is replaced at once, contenders with a session keep it,
// and others are denied until all nodes belong to the new user.
//
// Records and requests have the same ACL, so the same user can also list, watch,
// break and forget. Other users need read on the chroot and all nodes below to list,
// inspect and watch (servers since 3.8.4 and 3.9.2 report no changes of nodes that the
// user may not read); to break, also delete on the queue or, in unfair mode, create and
// delete on the chroot and write on lock and record; to forget, create and delete
// on both. A probe needs only read on the chroot.
//
// If records and requests cannot be read or written, because somebody else has created
// them, the operation that needs them fails, and the lock is kept.
//
// # Limits
//
// How many servers serve is not checked; "mntr" and "srvr" show it, and without a majority no
// lock is granted or renewed.
//
// The waiters in unfair mode are unknown. Inspect reads the nodes of a queue one
// by one, and may miss contenders that come or go meanwhile.
//
// The node of a queue is a container, which the server deletes about a minute
// after it became empty. Servers before 3.5.3 have no containers; there the last
// contender deletes it, if it can.
//
// If somebody with its password ends a session by force, the contender notices that
// with the next renewal; it notices at once if its node is deleted.
//
// Servers limit connections per client address (maxClientCnxns, 60 by default);
// a contender has one, and briefly two.
//
// A server logs a warning for each connection that breaks; 3.8 with a stack trace
// (NIOServerCnxn). Renewals do not cause these: a server that is asked to resume
// a session closes the session's old connection, if that was to the
// same server. Releases and failed renewals do cause them.
//
// An answer of more than 16 MiB, as for 300,000 contenders, is refused.
//
// What leaderrun has not made is refused (ErrUsage) and not changed: a lock's node without the
// label of a queue or a holder, and an entry at the head of a queue that belongs to no session.
// Other children of a queue whose names are not leaderrun's are ignored. In fair mode without a
// try, a contender sees the node only when its own is already below it, and then deletes that:
// to look first would cost a request.
//
// Restoring old data sets the token back. It can rise to 2⁶³.
//
// Grant.Clean is never true, and Status.Start unknown: after a release, the lock looks
// the same as after the end of a session.
package zookeeper
