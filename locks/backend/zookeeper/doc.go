// Package zookeeper keeps locks in ZooKeeper, versions 3.5 to 3.9.
//
// In fair mode, the default, a lock is a queue: a node whose children are the
// contenders' own, ephemeral and numbered by the server. The lowest number
// leads, and each contender watches only the node just before its own, so that a
// release wakes one waiter, however many there are. With mode=unfair a lock is
// one ephemeral node: whoever creates it leads, and all others watch it. That
// saves a waiter some requests and the queue, and wakes everybody at each
// release: it is for a few contenders that do not mind their order. Both exclude
// each other, too, should contenders not agree on the mode.
//
// Each contender has a session of its own, which is its lease. A release closes
// the session: that deletes what belongs to it and nothing else, in one step.
//
// # URL
//
//	zk://[user:password@]host[:port][,host[:port]…][/chroot][?parameters]
//
// The port is 2181 unless given; if one of several hosts has a port, the last
// must have one. A name that has several addresses stands for all of them. The
// chroot, above all nodes that are made, is /leaderrun unless
// given. Parameters:
//
//	mode=fair|unfair  see above
//	auth-file=FILE    has user:password, for the scheme "digest"; several, one a
//	                  line, are all made known
//	cacert=FILE       the CAs that may have signed the servers' certificates, PEM
//	cert=FILE         our certificate, PEM, with key=FILE
//	servername=NAME   the name that the servers' certificates must have
//	tls=true|false    speak TLS or not; else TLS is spoken if any of the three
//	                  above is given
//
// All certificates are read anew for each connection, so that the files may be
// replaced in the middle of a job.
//
// What the URL leaves open comes from variables: ZK_HOSTS (for a URL without a
// host, such as "zk:": a list of host:port as ZooKeeper's own tools take it,
// with a chroot at its end or without), ZK_AUTH (user:password; it, or a file,
// is the best place for a password), LEADERRUN_ZK_CHROOT, LEADERRUN_ZK_CACERT,
// LEADERRUN_ZK_CERT and LEADERRUN_ZK_KEY.
//
// # Liveness
//
// The lease is the session's timeout, as granted: by default a server grants
// from 2 to 20 of its ticks, that is, from 4 s to 40 s (minSessionTimeout,
// maxSessionTimeout). It counts in ticks and rounds up, so that a session ends
// up to a tick late. Servers of an ensemble need the same limits.
//
// Only Renew extends it. The library would ping on its own, and reconnect,
// which renews, too: pings are not sent, and connections are made only for a
// request of the core. When the core asks for nothing, the session expires.
// For as long as it may last without a renewal, it is given up here, too.
//
// What a renewal has to prove is that the session lasts for its full timeout
// from some moment after it was asked for. That any request is answered proves
// less, as ZooKeeper's source shows (package org.apache.zookeeper.server):
//
//   - A read is answered by the server that we are connected to, from what it
//     knows, without a word to the leader.
//   - Sessions are ended by the leader. A follower notes who was active
//     (LearnerSessionTracker.touchSession), and tells the leader when that pings
//     it, every half tick (Leader.lead, Learner.ping). If the follower is cut off
//     in between, what was active since the last ping was never heard of.
//   - A write that comes through a follower is no better: the leader looks
//     whether the session exists (PrepRequestProcessor, checkSession), and does
//     not extend it. Only requests of the leader's own clients do
//     (ZooKeeperServer.submitRequestNow, touch).
//   - To resume a session on a new connection does reach the leader, which
//     extends the session at once and for its full timeout before it answers
//     (Learner.validateSession, Leader.revalidateSession, touchSession).
//   - But the leader that says so may have lost its quorum without knowing it
//     yet. Whoever was elected instead has given each session its full timeout
//     when it began (SessionTrackerImpl), which may be before we asked. A sync
//     does not tell either: a leader answers it without its quorum
//     (Leader.processSync, ZOOKEEPER-1675).
//   - A transaction is committed only when a quorum has acknowledged it, and
//     later leaders begin later than that.
//
// So a renewal resumes the session on a new connection and then, on that,
// commits a transaction that changes nothing: a multi request with nothing but
// a check that our node is there. The first proves that the leader has extended
// the session, the second that it was the leader. A server that is the leader,
// or alone, does the same. It costs a connection, and a write of some 100 bytes
// to each log. With TLS the connection resumes the TLS session of the one before.
// Waiters do the same, as the first deadline of their term counts
// from their last renewal; 100 of them with a renewal every 3 s are some 30
// small transactions a second.
//
// With several hosts given, or addresses that a name has, the next one is tried
// when a connection fails or a renewal does. Names are looked up again for each
// round. None of several addresses gets more than half of the time that is left of
// a renewal. A waiter whose connection has broken learns of a hand-over with
// its next renewal.
//
// # Inspecting, record and requests
//
// What concerns these is sent for a session of its own, which ends with the call:
// each request extends the session that it belongs to, and only Renew may extend
// a lease. A transaction that changes nothing comes before what is read, for the
// reason given above: an answer to it, unlike one to a sync, is proof of a
// quorum, and the server that we read from has then applied all that was
// committed before.
//
// The text that is kept beside a lock is the persistent node NAME%record, next
// to the lock's node NAME. A "/" in the NAME is written %2F and a "#" %23; as no
// NAME has another "%", no node is taken for another. Nothing deletes it.
//
// It is written in one transaction with a check of our node. In fair mode the
// name of that has a random part, so that it is there as long as our session has
// not ended and nobody has deleted it, and until then nobody else leads.
//
// In unfair mode a check is not enough. That our session lives proves nothing,
// as an operator may have deleted the node; and if another contender has made it
// anew, it has the same path and, as all new nodes, the version 0. A transaction
// can ask for no more than these. So there are two:
//
//  1. Write the lock's node and the record, both as they are, if they have the
//     versions that were read. The answer has the czxid of the lock's node: if
//     that is our token, the node was ours at that moment. Its version is n ≥ 1
//     then, and the record's is r.
//  2. Write the record, if the node has the version n and the record r.
//
// Suppose that the node is another's when the second is carried out. It was made
// after the first, with the version 0. To come to n ≥ 1, it was written; but
// whoever writes it does so by the first step, which writes the record, too,
// which then has not the version r any more. So nothing is written by the second.
// If it was another's already at the first, that has written nothing new. (A
// record that somebody deletes begins with the version 0 again: who does that by
// hand in between, or by Forget for a name that is in use, can spoil this.)
//
// In both modes the record is only written in the version that was read before.
// So a transaction that was sent again, and arrives after a later one, fails.
//
// A request to the holder is the persistent node NAME%ask, written in one
// transaction with a check that the holder's node is there. The holder watches
// it. It deletes what it has read, and what was left for earlier holders. The
// watch ends with each connection and is begun anew, which costs a renewal one
// small read. So what was left while the holder was cut off is heard with its
// next renewal, and once. To read and delete a request is two requests of the
// holder's session, at most: should nobody renew, they may make it end later at
// the servers, but never later than a TTL after we have given it up.
//
// # The operator's view
//
// List reads the names below the chroot. A lock is what has a name that a lock's
// name becomes in the way said above, and has a holder or a record. One that we may
// not read fails the list: to leave it out would be to say that it is free.
//
// Watch has the server watch the lock's node, or the chroot, and all below it. That
// takes ZooKeeper 3.6; older servers are an ErrUsage. Its session lasts as long as
// the watch, and is kept alive by pings: it is nobody's lease. After an outage a
// change is told, whether there was one or not.
//
// Break deletes the holder's node. In a queue no other node ever has the name of
// that, so the name is condition enough. In unfair mode the next holder's node has
// the same path. There Break makes the first of the two transactions that write a
// record (see above), and in place of the second it deletes the node, if that has
// the version n and the record r. What was shown there holds here, too: another's
// node is never deleted. If another has taken the lock just before the first, its
// node is given the text of the old one, and so its holder is shown under the name
// of the old one; nothing worse happens, and Break fails. Where there was no record,
// an unset one is left behind.
//
// Forget deletes queue, record and requests in one transaction, and the server
// itself refuses to delete a queue that is not empty. That nobody has the lock in
// unfair mode it proves by making a node where the holder's would be, or below it,
// which fails if that is there. The chroot stays.
//
// Probe asks each server what it tells everybody ("srvr", of ZooKeeper's commands of
// four letters the one that is always allowed), and has it grant a session that is
// as short as can be and another as long, which shows the range of TTLs. ZooKeeper
// does not tell its clock, nor what is left of a session.
//
// # Fencing token
//
// The token is the czxid of our node: the number of the transaction that
// created it, which rises with each transaction of the ensemble, and across
// changes of its leader. In a queue, who comes later has a node created later;
// so the tokens rise from holder to holder. The number in the node's name is no
// token: it begins again when an empty queue was deleted, and after 2³¹ nodes
// servers since 3.6 give the last one again and again. From then on the czxids of
// a queue's nodes are compared, not their names: who looks at the queue looks at
// each of its nodes, until the queue was empty for a minute.
//
// # Permissions
//
// With a user given, all that is made can be read and written only by that user
// (an ACL of the scheme "auth" with all permissions); else by anybody. A user
// needs the permissions create, read, write and delete on the chroot, or, if
// that is missing, on the node above. All contenders for a lock need the same
// user. ZooKeeper accepts any password: a wrong one is another user, who is
// denied what exists already.
//
// So to change a password is to change the owner of all nodes. The file of auth-file
// is read anew for each session and each renewal; one that cannot be read then, or has
// anything else, is as it was. Who has a session has in it all users that were in the
// file since it began, and what it makes belongs to all that it has: its own node to
// those of the beginning. In between nobody is locked out if
//
//  1. the file has both users, one a line, wherever there are contenders;
//  2. after the next renewals, who knows both gives them all that there is (in zkCli,
//     addauth digest USER:OLD, addauth digest USER:NEW, setAcl -R /leaderrun auth::cdrwa);
//  3. the old user is deleted from the file;
//  4. who knows only the new one repeats that setAcl.
//
// If the file has only the new user at once, contenders that have a session keep it,
// and others are denied until all nodes are the new user's.
//
// Records and requests have the same ACL, so that the same user can list, watch,
// break and forget, too. Others take read on the chroot and all below it to list,
// inspect and watch (for what they may not read, servers since 3.8.4 and 3.9.2 tell
// of no changes); to break, also delete on the queue or, in unfair mode, create and
// delete on the chroot and write on lock and record; to forget, create and delete
// on both. To probe takes nothing but read on the chroot.
//
// Who may not read or write records and requests, because somebody else has made
// them, is told so when that is needed, and keeps the lock.
//
// # Limits
//
// Who waits in unfair mode is not known. Inspect reads the nodes of a queue one
// by one; who comes or goes meanwhile may be missing.
//
// The node of a queue is a container, which the server deletes about a minute
// after it became empty. Servers before 3.5.3 know no containers; there the last
// contender deletes it, if it can.
//
// That a session was ended by force (by somebody with its password) is noticed
// with the next renewal; that a node was deleted, at once.
//
// Servers limit connections per client address (maxClientCnxns, 60 by default);
// a contender has one, and for a moment two.
//
// A server logs a warning for each connection that breaks; 3.8 with a stack trace
// (NIOServerCnxn). Renewals do not cause these: the server that is asked to resume
// a session closes the connection which it had before, as long as that is to the
// same server. A release does, as do renewals that fail.
//
// An answer of more than 16 MiB, as of 300,000 contenders, is refused. Children
// of a queue whose names no leaderrun gives are ignored; a node with such a name
// that somebody makes by hand holds the lock until it is deleted.
//
// Restoring old data sets the token back. It can rise to 2⁶³.
//
// Grant.Clean is never true, and Status.Start not told: a node deleted by a release
// looks the same as one whose session expired.
package zookeeper
