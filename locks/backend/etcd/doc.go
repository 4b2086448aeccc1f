// Package etcd keeps locks in etcd, versions 3.4 to 3.7.
//
// A lock is a fair queue. Each contender has a key in it, which belongs to the contender's
// own lease, and the key that was created first leads. Every contender watches only the
// key just before its own, so a release wakes one waiter, however many there are. The
// recipe is the one that etcd itself uses (client/v3/concurrency), with these
// differences: nothing renews the lease in the background; a holder notices at once if an
// operator deletes its key; a release can delete only the key of its own term; and one
// round trip takes a free lock, and none the lock of the holder before us.
//
// # URL
//
//	etcd://[user[:password]@]host[:port][,host[:port]…][/prefix][?parameters]
//
// The default port is 2379; if one of several hosts has a port, the last must have one. The
// default prefix of all keys is /leaderrun. leaderrun-backends(7) has the parameters.
//
// Settings that the URL omits come from the variables that etcdctl uses:
// ETCDCTL_ENDPOINTS (for a URL without a host, such as "etcd:"; it may have
// "https://" and "http://", which then decide), ETCDCTL_CACERT,
// ETCDCTL_CERT, ETCDCTL_KEY, ETCDCTL_INSECURE_TRANSPORT,
// ETCDCTL_INSECURE_SKIP_TLS_VERIFY, ETCDCTL_USER (user or user:password) and
// ETCDCTL_PASSWORD; and from LEADERRUN_ETCD_PREFIX and
// LEADERRUN_ETCD_PASSWORD_FILE. ETCDCTL_AUTH_JWT_TOKEN is refused, and for a URL without a host
// so are ETCDCTL_DISCOVERY_SRV and ETCDCTL_API=2. Client certificates also work as a means of
// authentication (--client-cert-auth).
//
// Files may be replaced while a job runs: certificates are read again for each
// connection, and the password for each login. If a file cannot be read, or is empty, its
// last contents are used. While the file and the server have different passwords, holders
// and waiters keep trying.
//
// # Liveness
//
// The lease is etcd's, in whole seconds, and at least 1.5 times the server's
// election timeout (2 s with its defaults). Only Renew extends it. After the renewal, a
// read that a majority agrees to must show the same leader and our entry: before 3.4.31
// and 3.5.13, a leader whose disk hangs renews leases by itself, while they end for the
// other members (etcd-io/etcd#15247). That read costs one more request. While we wait for
// the lock, the same lease keeps our entry in the queue. The server may end a lease about
// half a second late, and a change of the cluster's leader extends all leases;
// neither matters to the holder, which counts by itself.
//
// etcd's grpc-proxy may answer a renewal with the late answer to an earlier one. Behind a
// proxy, a renewal counts only if the time left of the lease, which the proxy asks
// its server for, shows that it is new. The server reports whole seconds, so this takes
// a second, or one and a half, and a ttl below 12 s leaves no time for it.
//
// One host may lead to several members, as a balancer does. So a connection over which a
// request had no answer in time, or met a member that has no leader, or cannot serve for
// another reason, is closed, and the next attempt makes a new one. Each renewal of a holder
// does so once, and at once. Otherwise that takes a second, and longer each time, up to 10 s,
// unless the connection serves a request meanwhile.
//
// With several hosts, requests go to each in turn, so a member that is down costs
// nothing, and one that has fallen silent costs half of an attempt. If a learner refuses a
// request, the next member gets it. A watch on a member that hangs reports nothing, and
// does not end as long as the member answers pings. So each renewal of a waiter also looks
// for the entry before its own, by another member in turn, and whoever watches requests
// or changes looks again every 10 s. This can delay a hand-over by a few renewals.
//
// # Next in line
//
// The next waiter leads as soon as its watch reports the deletion of the entry before it, without
// reading the queue again. It has read the queue, in one transaction at revision R, and found one entry before its own: the
// head. It watches the deletions of all entries from R+1 on. It leads if an answer has that
// of the head, and neither that answer nor an earlier one has that of its own entry. The
// proof:
//
//   - Entries go by the revisions that created them. So nothing that is created after R
//     comes before our entry, not even under the head's key.
//   - A watch reports each deletion, in the order of revisions, and those of one revision
//     in one answer. So our entry existed when the head was deleted, and was the first.
//   - A member that lags behind reports the same, later. Our entry may be gone by then, as
//     any holder's may: the lease counts from the last renewal, not from the watch, and the
//     watch of our own entry, or the next renewal, reports the loss.
//   - If the watch ends, or its revisions were compacted, we look again. Events of R or
//     before, which some servers repeat, do not count.
//   - Servers that lose data go back to earlier revisions. But they restart, and elect a
//     leader: unless its term is that of the look, we look again. Backups: see Limits.
//   - Some servers have omitted a deletion after a compaction (etcd-io/etcd#18089). If it
//     is that of our entry, we learn of it when we write our label again, 100 ms later.
//
// A waiter further back reads the queue again when the new holder writes its label, and may find
// that it is next.
//
// # Record and requests
//
// The record of a lock is the key PREFIX/NAME%record, without a lease. It is written in
// one transaction with two conditions. Our own key must exist as we created it, so that
// nothing is written after a loss. The record must be as we last knew it, so that a
// request that was repeated and arrives after a later one changes nothing. A "/" in the
// NAME is written %2F and a "#" %23; a NAME has no other "%", and queues have one more
// "/", so keys of different locks never collide.
//
// A request to the holder is the key PREFIX/NAME%ask. The sender gets a lease for it, for
// the holder's TTL and a minute, which nobody renews: an unread request does not stay. The
// sender first reads who leads, and writes the request only if that has not changed. The
// holder also watches that key, on a separate stream, and reads it every 10 s and after a
// watch has ended. So a request that was left while the holder was cut off is delivered
// later, and only once.
//
// # What an operator sees and does
//
// Inspecting a lock takes one request, and one more if it is held: the server reports the
// time left of the lease, in whole seconds. Whether a term began
// with a clean release is unknown, as in Grant.Clean.
//
// The list shows the locks under the prefix. A page has up to 32 locks and takes up
// to 9 requests: the first ones read only keys, and skip the rest of a queue after its
// first entry; the last one reads who leads, how many wait, and the records, at one
// moment. The cursor is a key. Keys that do not belong to a lock are left out.
//
// A watch covers the keys of a queue, or all keys under the prefix, on a separate stream.
// It continues after a lost connection. After a compaction, an expired login or the
// loss of the leader it starts again, and reports a change, because there may have been
// one.
//
// Breaking a lock deletes the holder's key, in a transaction with the condition that its
// create_revision, the token, is unchanged: the next in line leads at once, and the
// holder's watch reports the loss. Then the key's lease is ended, if no other key belongs
// to it, so that the next renewal also fails. If that is impossible, a holder whose watch
// has fallen silent learns of its loss when it renews.
//
// Forgetting a lock deletes the keys PREFIX/NAME%record and PREFIX/NAME%ask in a
// transaction with the condition that the queue is empty. The next token is still
// greater. The lease of an old request ends by itself.
//
// A probe asks each address for its status, on a separate connection, and
// reads one key under the prefix. etcd does not report its time.
//
// # Fencing token
//
// The token is the create_revision of our key: the revision of etcd's whole
// store, which rises with every write and never repeats in the life of a
// cluster. It needs no key of its own.
//
// # Permissions
//
// With etcd's authentication on, the user needs to read and write all keys
// under the prefix:
//
//	etcdctl role grant-permission ROLE readwrite --prefix=true /leaderrun/
//
// A lock needs only the keys of its queue, those that begin with
// PREFIX/NAME/. If a permission is missing, the operation that needs it fails, and the
// lock is kept. The other operations need:
//
//	to inspect or watch a lock    to read its queue
//	to list or watch all locks    to read all keys under the prefix
//	to set a record               also to read and write PREFIX/NAME%record
//	to receive requests           to read PREFIX/NAME%ask
//	to send a request             to write PREFIX/NAME%ask, and to read the queue
//	to break a lock               to read and write its queue
//	to forget a lock              to read its queue, and to write PREFIX/NAME%record
//	                              and PREFIX/NAME%ask
//	to probe                      to read the prefix; some servers (3.4 from 3.4.42,
//	                              3.5 from 3.5.28 to 3.5.31, 3.6 before 3.6.12) report
//	                              their version and role only to the user root
//
// # Limits
//
// A full database (NOSPACE) refuses writes and a learner refuses locks, which the error says;
// etcdctl endpoint status shows how full the servers are, and etcdctl member list who is a
// learner. Through etcd's grpc-proxy a renewal takes a second or more.
//
// Restoring a backup sets the revision back, and with it the token: raise it
// with `etcdutl snapshot restore --bump-revision … --mark-compacted`. Otherwise a
// waiter may also lead without an entry, until it writes its label or renews.
//
// A server may end leases too early when a leader that had stalled wakes up
// (etcd-io/etcd#15247; releases since 2024 make this rare, but not
// impossible). The holder learns of it at once, if it can be reached; the fencing
// token protects against the rest.
//
// Grant.Clean is never true: after a release, the queue looks the same as after the end
// of a lease.
//
// A prefix must not be another prefix with a lock's name: the keys under
// /leaderrun/jobs are in the queue of the lock "jobs" under /leaderrun.
//
// An entry is named after its lease. A key at the head of a queue that is not was written by
// somebody else: whoever meets it reports its name (ErrUsage), and does not change it.
package etcd
