// Package consul keeps locks in the key/value store of Consul, version 1.14 or later.
//
// A lock is one key, PREFIX/NAME. The contender whose session has locked it leads. There is
// no queue. The value of the key is a label, mostly for people, written in the step that locks it.
// The key's flags say that it is ours. A key that nobody has locked and that does not have them
// is somebody else's: it is refused, and not changed.
//
// # URL
//
//	consul://[host[:port]][/prefix][?parameters]
//
// The port is 8500 unless given, and the prefix of all keys is leaderrun. A session belongs
// to the node of one agent, so there is only one address: that of an agent on this machine,
// or of a server. leaderrun-backends(7) has the parameters.
//
// Settings that the URL omits come from the variables of the consul command:
// CONSUL_HTTP_ADDR (host:port, http://…, https://… or unix:///socket; without a port 80, or
// 443 with TLS),
// CONSUL_HTTP_TOKEN, CONSUL_HTTP_TOKEN_FILE, CONSUL_HTTP_AUTH (user:password),
// CONSUL_HTTP_SSL, CONSUL_HTTP_SSL_VERIFY, CONSUL_CACERT, CONSUL_CLIENT_CERT,
// CONSUL_CLIENT_KEY, CONSUL_TLS_SERVER_NAME, CONSUL_NAMESPACE and CONSUL_PARTITION.
// CONSUL_CAPATH is refused. HTTP proxies are not used. The token's file is read for each
// request, and certificates for each connection.
//
// # Liveness
//
// The session has the ttl, no health checks (with Consul's default it ends as soon as other
// nodes cannot reach the agent), and a lock delay as long as the ttl, at most 60 s. The server
// ends a session that is not renewed after twice its ttl. It ends it earlier if somebody
// destroys it, or if the agent's node is deregistered, as when the agent leaves, or after
// `consul force-leave`. Then the holder learns of it at once, unless its agent is dead.
//
// So when a session ends that has the key, the key stays, without a session but with the label of
// its holder. Whoever finds it so gets it only after having seen it unchanged for as long as that
// holder may trust its lease, which the label says. A release deletes the key instead, in a
// transaction which checks that our session has it, and nobody waits after that.
//
// The lock delay, in which the server gives the key to nobody, would not be enough. It is at most
// 60 s. The servers keep delays in memory: one that has been restored from a snapshot since knows of
// none. And the timer of a delay ends any later one of the same key (SetExpiration in
// agent/consul/state/delay_ce.go, Consul 1.21): a server that reads its log again begins all delays
// anew, and forgets a delay that begins while these last. It protects us only from `consul lock`,
// which does not read our label.
//
// Only Renew extends a session. A server that has just become the leader, and has not yet
// read all of its log, answers that there is no such session; so a consistent read must
// confirm that, too. The leader of the servers renews without making sure that it still
// leads, and whether or not the session has the key. So after each renewal a consistent
// read must show the key with our session. A leader that was deposed while it was frozen
// can confirm one renewal that the new leader does not know of. But the new leader has
// restarted all sessions, and lets each last for twice its ttl.
//
// A request to lock the key demands that the key is as it was seen. So one that was not
// answered can be repeated: if it had been done, the other changes nothing, and we find the
// key with our session. To undo is to delete the key, if our session has it, and to end the
// session: a request that arrives later finds none, and fails.
//
// Waiters keep a session, and wait for a change of the key by a blocking query, which is a
// consistent read, too. Consul reports changes of the store as a whole, so an answer counts
// only if the key has changed. A query lasts up to a fifth of the ttl, so that one whose
// connection has gone silent is noticed soon.
//
// # Record and requests
//
// The record of a lock is the key PREFIX/NAME=record. It is written in one
// transaction that checks that our session has the lock's key, and that the record is as
// we have read it. A request to the holder is PREFIX/NAME=ask, written on the condition
// that the lock's key has the index which is the holder's token; the holder deletes it. A
// "/" in NAME is written =2F, and so on: Consul 1.21.5 refuses some characters in keys.
//
// To break a lock is to write its key as it is, if it has the index which is the token, and
// to end its session; the key then stays, which protects its holder. To forget
// one is to delete record and request in a transaction which checks that the key is free.
//
// # Fencing token
//
// The token is the ModifyIndex that the key got when it was locked: the index of the
// servers' log, which rises with every write of the datacenter. Nothing
// has to be kept for it, and its holder never writes the key again. Whoever takes a key that exists
// deletes it in the same step, so that its CreateIndex is the token as well, also once its session has
// ended.
//
// # Permissions
//
// With ACLs on, the token needs a policy like
//
//	key_prefix "leaderrun/" { policy = "write" }
//	session_prefix "" { policy = "write" }
//
// The second can be limited to the node of the agent: session "NODE". To break a lock, it must
// be that of the holder's agent. To inspect, list and
// watch, read is enough. Without more, a probe cannot tell the version of the servers
// (agent_prefix "" { policy = "read" }).
//
// # Limits
//
// The ttl is 10 s or more, or what session_ttl_min says on the servers; a shorter one is
// made longer.
//
// A server with -dev keeps nothing over a restart. In new servers, what `consul snapshot
// restore` brings back has an old index: tokens fall behind those given since.
//
// An agent takes 200 connections from one address (limits.http_max_conns_per_client). A run
// needs up to four.
//
// Whoever may write the key can change it while it is locked. The lock is unaffected, but
// its status then shows another token, and the holder receives no requests. Without our label only
// the lock delay protects a holder whose session ends, and without our flags the key is then refused.
package consul
