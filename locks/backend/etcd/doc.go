// Package etcd keeps locks in etcd, versions 3.4 to 3.7.
//
// A lock is a fair queue. Each contender has a key of its own in it, which
// belongs to a lease of its own, and the key that was created first leads.
// Every contender watches only the key just before its own, so that a release
// wakes one waiter, however many there are. The recipe is the one etcd itself
// uses (client/v3/concurrency), with these differences: nothing renews the
// lease in the background; a key deleted by an operator is noticed at once; a
// release can only ever delete the key of the very term that releases; and one
// round trip takes a free lock.
//
// # URL
//
//	etcd://[user[:password]@]host[:port][,host[:port]…][/prefix][?parameters]
//
// The port is 2379 unless given; if one of several hosts has a port, the last
// must have one. The prefix of all keys is /leaderrun unless given. Parameters:
//
//	cacert=FILE      the CAs that may have signed the servers' certificates, PEM
//	cert=FILE        our certificate, PEM, with key=FILE
//	password-file=FILE
//	                 has the password
//	servername=NAME  the name that the servers' certificates must have
//	tls=true|false   speak TLS or not; else TLS is spoken if any of the above,
//	                 or of the variables below that concern TLS, is given
//
// What the URL leaves open comes from the variables that etcdctl uses:
// ETCDCTL_ENDPOINTS (for a URL without a host, such as "etcd:"; in it
// "https://" and "http://" are allowed, and decide), ETCDCTL_CACERT,
// ETCDCTL_CERT, ETCDCTL_KEY, ETCDCTL_INSECURE_TRANSPORT,
// ETCDCTL_INSECURE_SKIP_TLS_VERIFY, ETCDCTL_USER (user or user:password) and
// ETCDCTL_PASSWORD; and from LEADERRUN_ETCD_PREFIX and
// LEADERRUN_ETCD_PASSWORD_FILE. Client certificates work as a means of
// authentication (--client-cert-auth), too.
//
// Files may be replaced in the middle of a job: certificates are read anew for each
// connection, and the password for each login. One that cannot be read, or is empty, is
// as it was. While the file and the server have different passwords, a holder and a
// waiter go on trying.
//
// # Liveness
//
// The lease is etcd's, in whole seconds, and at least 1.5 times the server's
// election timeout (2 s with its defaults). Only Renew extends it. After the renewal a
// read that a majority agrees to must show the same leader, and our entry: before 3.4.31
// and 3.5.13 a leader whose disk hangs renews leases by itself, which the others let run
// out (etcd-io/etcd#15247). That read costs one request more. While we wait for the lock
// the place in the queue is the same lease. The server may end a lease later than it runs
// out, by about half a second, and a change of the cluster's leader extends all leases;
// neither matters to the holder, who counts by itself.
//
// etcd's grpc-proxy may answer a renewal with an answer that came late to an earlier one.
// Behind one a renewal is believed when what is left of the lease, which the proxy asks
// its server for, shows that it is new. The server tells whole seconds, so that takes
// one second, or one and a half, and with a ttl below 12 s there is no time for it.
//
// With several hosts given, requests go to each in turn, so that a member that
// is down costs nothing, and one that has gone silent costs half of an attempt. What a
// learner refuses goes to the next member. A watch tells nothing if its member hangs, and
// does not end as long as that answers pings. So each renewal of a place also looks for
// the entry that it waits for, by another member in turn, and who listens or watches looks
// again every 10 s. That can delay a hand-over by a few renewals.
//
// # Record and requests
//
// The text that is kept beside a lock is the key PREFIX/NAME%record, without a
// lease. It is written in one transaction which compares that our own key is
// there as we made it, so that after a loss nothing is written, and that the
// record is as we last knew it: a request that was sent again, and arrives after
// a later one, changes nothing. A "/" in the NAME is written %2F and a "#" %23;
// as no NAME has another "%", and queues have one "/" more, no key is taken for
// another.
//
// A request to the holder is the key PREFIX/NAME%ask. Whoever asks gets a lease
// for it, of the holder's TTL and a minute, which nobody renews: what is not
// heard does not stay. Before, it is read who leads, and it is written only if
// that has not changed. The holder watches that key, too, on a stream of its
// own, and looks at it every 10 s and after a watch that has ended; so what was left
// while it was cut off is heard later, and once.
//
// # What an operator sees and does
//
// To inspect a lock takes one request, and one more if it is held: how much of the
// lease is left is for the server to tell, in whole seconds. Whether a term began
// with a clean release is not known, as in Grant.Clean.
//
// The list is of what stands under the prefix. A page has up to 32 locks and takes up
// to 9 requests: some look at keys alone, and pass over the rest of a queue once they
// have met one entry of it; the last one reads who leads, how many wait, and the
// records, at one moment. The cursor is a key. Keys that are no locks' are left out.
//
// A watch is of the keys of a queue, or of all under the prefix, on a stream of its
// own. It goes on after a lost connection. After a compaction, an expired login or the
// loss of the leader it begins anew, and a change is told as there may have been one.
//
// To break a lock is to delete the key of the holder, in a transaction that compares
// its create_revision, the token: the next in line leads at once, and the holder's
// watch tells it. Then the lease of that key is ended, if no other key belongs to it,
// so that the next renewal fails, too. If that cannot be done, a holder whose watch
// has gone silent hears of its loss from its next renewal.
//
// To forget a lock is to delete the keys PREFIX/NAME%record and PREFIX/NAME%ask in a
// transaction that compares that the queue is empty. The next token is greater even
// so. The lease of an old request ends by itself.
//
// To probe is to ask each address for its status, on a connection of its own, and to
// read one key under the prefix. etcd does not tell its time.
//
// # Fencing token
//
// The token is the create_revision of our key: the revision of etcd's whole
// store, which rises with every write and never repeats in the life of a
// cluster. Nothing is kept in etcd for its sake.
//
// # Permissions
//
// With etcd's authentication on, the user needs to read and write all keys
// under the prefix:
//
//	etcdctl role grant-permission ROLE readwrite --prefix=true /leaderrun/
//
// A lock as such needs only the keys of its queue, those that begin with
// PREFIX/NAME/. Who lacks a permission is told so when it is needed, and keeps the
// lock. The rest takes:
//
//	to inspect or watch a lock    to read its queue
//	to list or watch all locks    to read all keys under the prefix
//	to set a record               to read and write PREFIX/NAME%record as well
//	to hear requests              to read PREFIX/NAME%ask
//	to leave a request            to write PREFIX/NAME%ask, and to read the queue
//	to break a lock               to read and write its queue
//	to forget a lock              to read its queue, and to write PREFIX/NAME%record
//	                              and PREFIX/NAME%ask
//	to probe                      to read the prefix; some servers (3.4 from 3.4.42,
//	                              3.5 from 3.5.28 to 3.5.31, 3.6 before 3.6.12) tell
//	                              their version and role to the user root alone
//
// # Limits
//
// Restoring a backup sets the revision back, and with it the token: raise it
// with `etcdutl snapshot restore --bump-revision … --mark-compacted`.
//
// A server may end leases too early when a leader that had stalled wakes up
// (etcd-io/etcd#15247; releases from 2024 on make that rare, and not
// impossible). The holder is told at once, if it can be reached; the fencing
// token covers what is left.
//
// Grant.Clean is never true: a key that was deleted by a release looks the same
// as one whose lease ran out.
//
// A prefix must not be that of another and a lock's name: the keys under
// /leaderrun/jobs are in the queue of the lock "jobs" under /leaderrun.
//
// A key that somebody writes into a queue by hand, without a lease, holds the
// lock until it is deleted.
package etcd
