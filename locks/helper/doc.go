// Package helper runs a backend in a separate program, leaderrun-SCHEME, and talks to it
// over pipes. [Main] is the helper's end: it serves a [locks.Opener]. [Programs] is the
// core's end: it finds and starts helpers, and its Open makes a [locks.Lock] whose
// backend runs in one. The rest of this comment is the protocol between the two, for
// authors of backends in other languages. See leaderrun-toy in this directory for one in
// shell.
//
// # The program
//
// The core starts one helper per lock (and one whose input has ended, to learn its
// version). It searches the directories that [Programs] lists for a file
// leaderrun-SCHEME, and runs it without arguments. The helper has leaderrun's environment
// and working directory, its own process group, and three pipes:
//
//   - Standard input: requests from the core.
//   - Standard output: answers and events, and nothing else.
//   - Standard error: its log. The core logs a line that is a JSON record as
//     slog.JSONHandler writes it ("level", "msg", any others) as that record, and any
//     other line as a warning. It passes on 100 lines a second, each up to 4 KiB. If the
//     helper ends unexpectedly, the last line (of a Go panic, the first) explains why.
//
// The helper ignores SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN and SIGTTOU: they
// are meant for the job, and the core decides. It exits when its input ends, without
// releasing a lock that it holds: the core may be dead while the job is still running. It
// has one second to exit; then it is killed.
//
// # Lines
//
// Each message is one JSON object in UTF-8, on one line of at most 64 KiB including the
// newline. Durations are integers in nanoseconds, and their names end in _ns. Tokens are
// integers up to 2^64−1. Times are as in RFC 3339. The receiver ignores unknown fields.
// An absent field is zero, false or empty. The core writes its fields without spaces and
// in the order shown here, so that a shell can pick them with patterns.
//
// # Start
//
// The helper first sends, without being asked, the protocol that it speaks (this is
// version 1), the scheme that it serves, and its own version:
//
//	{"event":"hello","protocol":[1],"scheme":"etcd","version":"v1.2.0"}
//
// The core does not wait for that. It has already sent two requests:
//
//	{"id":1,"method":"open","timeout_ns":5000000000,"protocol":1,"url":"etcd://user:password@host:2379/prefix","name":"jobs/nightly","holder":"host/123/x7","ttl_ns":15000000000,"connect_timeout_ns":5000000000,"version":"v1.2.0","run_id":"5e0f31c2a97b4d68","log_level":"warn","priority":10,"no_resign":true,"pid":123}
//	{"id":2,"method":"acquire"}
//
// Hello must arrive within connect_timeout_ns of the start, and the answer to open at
// most connect_timeout_ns and 2 s after that.
//
// # Requests and answers
//
// An id is an integer, or a string of up to 64 bytes. The answer repeats it unchanged.
// Each request gets one answer, with a result or an error:
//
//	{"id":2,"result":{"token":7,"ttl_ns":15000000000,"clean":true}}
//	{"id":2,"error":{"class":"held","message":"held by web-1","status":{"held":true,"holder":"web-1"}}}
//
// timeout_ns, if present, is how long the core will wait. Answers may come in any order,
// except that acquire succeeds only after open has. A helper may also handle one request
// after the other if none takes longer than a renewal may: then it answers acquire with
// held instead of waiting, and ignores cancel. The methods are those of [locks.Lock],
// whose documentation is the full specification:
//
//   - open is the first request, and is sent once. It checks the URL and the
//     environment. log_level is debug, info, warn or error: the helper need not log
//     anything below it. run_id identifies this run; a helper that stores it with the
//     holder, and returns it in a status, lets leaderrun recognize a command that takes
//     the lock it already runs under. priority, from -1000 to 1000, and no_resign are
//     stored for inspect, and so are pid, the process that holds the lock, and advertise, of
//     at most 100 bytes, which the holder publishes. Result: secret_env, a list of the
//     environment variables that hold this backend's credentials; can, a list of abilities;
//     and location, of at most 1024 bytes, the address of the store with the prefix of its
//     locks, without secrets. The helper removes these credentials from what it reports and
//     logs, because a server may repeat them. An error ends the session.
//     With a term, the helper holds the lock as if it had been granted that term itself,
//     and with a place, acquire continues to wait there: see "When a helper dies".
//   - acquire campaigns for the lock, and is answered when the lock is ours. With
//     "try":true a lock that is held is an error of class held, at once. The core sends
//     another acquire only after such an error, never after a grant. Result: token,
//     at least 1 and greater than that of each earlier grant of this lock; ttl_ns, the
//     lease as granted, in [0, 7 days]; clean, true if the previous holder is known to
//     have released. A ttl_ns of 0 means that the lock lasts as long as the helper lives.
//     term, of at most 4096 bytes, is whatever another helper would need to renew and to
//     release the lock. A failed acquire leaves nothing behind that does not end by
//     itself within the TTL.
//   - renew extends the lease, or the place in the queue while acquire waits, by one
//     request to the server. Nothing else may extend it: if the core is frozen, the lock
//     must be lost.
//   - release gives the lock up if it is still ours, and succeeds if there is nothing to
//     give up. After a grant and a release, the core ends the session.
//   - {"id":2,"method":"cancel"} has no answer. It says that the core has given up
//     request 2, which should now be answered soon; the core kills a helper that has not
//     answered an acquire after 2 s, or a renew if another helper can continue. The answer
//     to an acquire that waits should say what is known: held, if the server has said so
//     within the last lease, or else unavailable, with what has failed. If the acquire has
//     succeeded meanwhile, the helper sends its result as usual, and the core then releases
//     the lock. The helper ignores a cancel for a request that it has already answered.
//
// A helper that declares an ability in the answer to open also has the methods of that
// ability. They may be called without acquire, and while acquire waits. The core ignores
// abilities that it does not know.
//
//   - "inspect": inspect reports the present state of the lock on the server, and does not
//     contend for it. Result: state, with the fields of a status and the list queue of at
//     most 64 places, each with holder, run_id, since and priority. If a state would not
//     fit into a line, its queue is shorter. It may also have details, up to 32 lines for
//     people about what only this backend has.
//   - "queue": the result of inspect has the queue, the next in line first.
//   - "record": record returns, as the result record, the text that is permanently stored
//     with the lock, or none if it was never set. set_record replaces it by text, of at
//     most 4096 bytes, if the lock is still ours, which the server checks in the step that
//     writes; otherwise the error is lost.
//   - "ask": ask leaves text, of at most 4096 bytes, for the holder with the given token
//     and for no other. The holder's helper reports it as an event.
//   - "list": list lists all locks under the prefix of the URL, whatever the name in open.
//     Result: page, of at most 64 locks, each with name, status and record as from inspect
//     and record; and next, a cursor of at most 1024 bytes for the next list. The last
//     page has no next. Locks that do not fit into the line of the answer precede it in
//     one or more events. Anything that is not a lock is left out.
//   - "watch": watch runs for as long as the helper watches, and a cancel ends it. One
//     event reports that the helper has begun to watch. Another follows each time that
//     inspect would return something new or, with "all":true, that list would. Changes
//     that have not been reported yet are merged into one event; renewals are not
//     changes. The answer says that watching has ended. Only one watch runs at a time.
//   - "break": break ends the term with the given token, whoever has it, if it is still
//     the current term when the server ends it. Otherwise nothing changes, and the error
//     is lost.
//   - "probe": probe reports the state of the servers. Result: servers, with the fields
//     product and user, and two lists of at most 32 elements: servers, each with address,
//     error, class, version, role, rtt_ns, time, ours, tls and expires; and findings, each
//     with check, level, text and fix. [locks.Servers] explains them. A level is ok,
//     warning or error; a class is denied or unavailable, or left out.
//   - "forget": forget deletes everything that is kept of a lock whose name is never used
//     again, if nobody holds it or waits for it. Otherwise it deletes nothing, and the
//     error is held.
//
// The answer to an unknown method is an error of class usage.
//
// # Errors
//
// An error has a message and, if one fits, a class:
//
//   - held: somebody else holds the lock. The error has a status, with as much as is known
//     of held, holder, run_id, host, pid, since, ttl_ns, left_ns, confirm_ns, token, waiters,
//     no_resign, advertise and start. left_ns is below 0 if the lease has ended and nobody
//     has taken the lock since. confirm_ns is above 0 if only a clock that may be wrong says
//     so, which another acquire without try would believe if nothing has changed after that
//     time. start is clean or takeover.
//   - lost: the lock, or the place in the queue, is certainly no longer ours. This is
//     final and never a guess: it kills the job.
//   - denied: permission is missing; another attempt would fail as well.
//   - unavailable: the server did not answer. Another attempt may succeed. An error
//     without a class is treated as this one.
//   - refused: the server will answer the same until somebody changes something, as if there is
//     no such database. A run whose first attempt ends so does not wait.
//   - usage: the request is invalid. Nothing was contacted.
//   - no_lease: only from renew, if there is nothing to renew (yet).
//
// An error may have op and backend, which make the message read `op "name" on backend:
// message`, and a hint, a sentence on what to do. No text contains a password.
//
// # Events
//
// A waiting acquire reports what it waits for, each time that this changes. lease_ns is
// the TTL of our place in the queue, if it has one and must be renewed:
//
//	{"event":"waiting","id":2,"waiting":{"status":{"held":true,"holder":"web-1"},"lease_ns":15000000000,"position":1}}
//
// Between a grant and the answer to a release, the helper passes on requests to the
// holder. If they arrive faster than the core reads them, the last one counts. One that arrived
// before the lock was lost comes before the loss, because it may say why:
//
//	{"event":"asked","text":"resign"}
//
// A list that does not fit into its answer comes in parts. A watch reports that something
// has, or may have, changed; its first event reports that it has begun:
//
//	{"event":"listed","id":5,"page":[{"name":"jobs","status":{"held":true},"record":"text"}]}
//	{"event":"changed","id":6}
//
// Between a grant and the answer to a release, the helper may report once that the lock
// was lost between two renewals:
//
//	{"event":"lost","error":{"class":"lost","message":"the key was deleted"}}
//
// # Trust
//
// Neither end trusts the other's lines. An invalid line (not JSON, too long, incomplete,
// an unknown event, an answer to no request or a second answer, a number out of range)
// makes the core end the session and the helper, and every call returns ErrUnavailable. A
// helper exits on an invalid line with a message and status 70.
//
// # When a helper dies
//
// A helper that is dead or silent is a backend that has stopped renewing: the core
// decides by its deadline. If the helper had sent a term with the grant, the core kills one that
// is silent, as said at cancel, and starts another helper, with the same open and that term:
//
//	{"id":1,"method":"open",…,"term":"…"}
//
// It answers without asking the server whether the lock is still ours, and extends
// nothing: the next renew does that. Its input is the same pipe, without what the first
// helper has not read.
//
// A place in the queue that is a lease outlives its helper as well. Unless somebody continues
// there, it is granted the lock in the end, and keeps it from everybody until the lease ends.
// If the last waiting event had a place, of at most 4096 bytes, the core starts another helper
// with the same open and that place, and sends it an acquire:
//
//	{"event":"waiting","id":2,"waiting":{…,"lease_ns":15000000000},"place":"…"}
//	{"id":1,"method":"open",…,"place":"…"}
//	{"id":2,"method":"acquire"}
//
// That acquire enters no queue. It waits in the place, and if that is gone, fails with an error
// of class lost.
//
// Only a lock with a ttl_ns of 0 is lost with its helper. A backend whose locks end with
// its process should not be in a helper at all, because somebody else can have the lock
// before the core learns of it.
//
// # When the core is dead
//
// The input lasts until the last process that has its other end is gone. A process that
// survives the core, and knows that the job is dead, may write its own request, with an
// id that the core cannot have used:
//
//	{"id":"guard","method":"release"}
//
// This request never lands in the middle of another line. The core writes each line at
// once, and lines after open are shorter than what POSIX guarantees that a pipe takes as
// a whole (512 bytes), except for set_record, ask and list. If the core dies while it
// writes one of these, the line is invalid, and the lock ends with its lease. The helper
// makes the release even if the input ends meanwhile, in at most 5 s, and even if nobody
// reads its answers.
package helper
