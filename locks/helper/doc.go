// Package helper runs a backend in a program of its own, leaderrun-SCHEME, and
// speaks with it over pipes. [Main] is the helper's end: it serves a
// [locks.Opener]. [Programs] is the core's end: it finds and starts helpers,
// and its Open makes a [locks.Lock] whose backend runs in one. What follows is
// the protocol between the two, for whoever writes a backend in another
// language; leaderrun-toy, beside this file, is one in shell.
//
// # The program
//
// The core starts one helper for one lock (and one whose input has ended, to hear
// which version it is of). It looks for a file leaderrun-SCHEME in the places that
// [Programs] lists, and passes no arguments. The helper has the environment and the working directory of
// leaderrun, a process group of its own, and three pipes:
//
//   - Standard input: requests of the core.
//   - Standard output: what the helper answers and reports, and nothing else.
//   - Standard error: its log. A line that is a JSON record as slog.JSONHandler
//     writes it ("level", "msg", any others) is logged as that; any other line
//     is a warning. 100 lines a second are passed on, each up to 4 KiB; the last
//     one explains the helper's end, if it comes unasked.
//
// The helper ignores SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN and
// SIGTTOU: they are meant for the job, and the core decides. It exits when its
// input ends, without releasing a lock that it holds: the core may be dead, and
// the job still running. It has a second for that; then it is killed.
//
// # Lines
//
// Each message is one JSON object on one line of at most 64 KiB, newline
// included, in UTF-8. Durations are integers in nanoseconds and end in _ns;
// tokens are integers up to 2^64−1; times are as in RFC 3339. A field that is
// not known is ignored, and one that is absent is zero, false or empty. The
// core writes its fields without spaces and in the order shown here, so that a
// shell can pick them with patterns.
//
// # Start
//
// The helper says at once, and unasked, which protocol it speaks (this is
// version 1), which scheme it serves and which version it is:
//
//	{"event":"hello","protocol":[1],"scheme":"etcd","version":"v1.2.0"}
//
// The core has then already sent two requests, as it waits for nothing:
//
//	{"id":1,"method":"open","timeout_ns":5000000000,"protocol":1,"url":"etcd://user:password@host:2379/prefix","name":"jobs/nightly","holder":"host/123/x7","ttl_ns":15000000000,"connect_timeout_ns":5000000000,"version":"v1.2.0","run_id":"5e0f31c2a97b4d68","log_level":"warn","priority":10,"no_resign":true,"pid":123}
//	{"id":2,"method":"acquire"}
//
// Hello must come within connect_timeout_ns of the start, and the answer to
// open within that and 2 s more.
//
// # Requests and answers
//
// An id is an integer, or a string of up to 64 bytes; the helper repeats it as
// it is. A request is answered once, with a result or an error:
//
//	{"id":2,"result":{"token":7,"ttl_ns":15000000000,"clean":true}}
//	{"id":2,"error":{"class":"held","message":"held by web-1","status":{"held":true,"holder":"web-1"}}}
//
// timeout_ns, where there is one, is how long the core will wait. Answers may
// come in any order; but acquire succeeds only after open has. A helper may
// also handle one request after the other if none takes longer than a renewal
// may: then it answers acquire with held instead of waiting, and ignores
// cancel. The methods are those of [locks.Lock], whose documentation says in
// full what a backend owes:
//
//   - open comes first, and once. It checks the URL and the environment.
//     log_level is debug, info, warn or error: what is below need not be
//     logged. run_id tells this run from all others; a helper that keeps it
//     beside the holder, and returns it in a status, lets a command that takes
//     the lock it runs under be recognised. priority, from -1000 to 1000, and
//     no_resign are kept for inspect, and so is pid, the process that holds the
//     lock. Result: secret_env, a list of the environment variables that hold this
//     backend's credentials, and can, a list of abilities. An error ends the
//     session. With a term, the helper holds the lock as if it had been granted
//     that term itself: see "When a helper dies".
//   - acquire campaigns for the lock and is answered when it is ours. With
//     "try":true a lock that is held is an error of class held, at once. Result:
//     token, from 1 up, greater than that of each earlier grant of this lock;
//     ttl_ns, the lease as granted, in [0, 7 days]; clean, true if the holder
//     before is known to have released. A ttl_ns of 0 says that the lock lasts
//     as long as the helper lives. A term, of at most 4096 bytes, is whatever
//     another helper would need to renew and to release the lock. After an error nothing of the attempt is
//     left, or only what ends by itself within the TTL.
//   - renew extends the lease, or the place in the queue while acquire waits,
//     by one request to the server. Nothing else may extend it: if the core is
//     frozen, the lock must be lost.
//   - release gives the lock up if it is still ours, and succeeds if there is
//     nothing to give up. After a release the core ends the session, or, if it
//     had given up the acquire, may acquire once more.
//   - {"id":2,"method":"cancel"} has no answer of its own. It says that the core
//     has given up request 2, which should now be answered soon; an acquire that
//     has not been after 2 s costs the helper its life. If it has succeeded
//     meanwhile, its result is sent as ever: the core then releases the lock.
//     A cancel for what was answered already is ignored.
//
// A helper that declares an ability in the answer to open has its methods, too.
// They may be called without acquire, and beside one that waits. Names of
// abilities that the core does not know it ignores.
//
//   - "inspect": inspect tells about the lock as the server has it now, and
//     contends for nothing. Result: state, with the fields of a status and,
//     beside them, queue; that has at most 64 places, each with holder, run_id,
//     since and priority. A state that would not fit into a line has fewer.
//   - "queue": what inspect returns has the queue, the next in line first.
//   - "record": record returns the text that is kept beside the lock for ever,
//     as result record; none, if there never was one. set_record replaces it by
//     text, of at most 4096 bytes, if the lock is still ours, which the server
//     checks in the step that writes; if it is not ours, the error is lost.
//   - "ask": ask leaves text, of at most 4096 bytes, for the holder with that
//     token, and nobody else. The holder's helper reports it as an event.
//   - "list": list tells about all locks under the prefix of the URL, whatever the
//     name in open. Result: page, of at most 64 locks, each with name, status and
//     record, as inspect and record tell them; and next, a cursor of at most 1024
//     bytes, with which the next list is to begin. Without next this was the last
//     page. What has no room in the line of the answer comes before it, in one or
//     more events. What is no lock is left out.
//   - "watch": watch is under way for as long as the helper looks, and is ended
//     by a cancel. An event says that the helper looks from now on, and another
//     one each time that inspect would tell something new; or, with "all":true,
//     that list would. Changes that were not told yet are one event; renewals are
//     none. The answer says that watching has ended. One is under way at a time.
//   - "break": break ends the term with that token, whoever has it, if it is
//     still the term when the server ends it. If it is not, the error is lost, and
//     nothing has changed.
//   - "probe": probe tells how the servers are. Result: servers, with the fields
//     product and user, and two lists of at most 32: servers, each with address,
//     error, class, version, role, rtt_ns, time, ours, tls and expires; and
//     findings, each with check, level, text and fix. [locks.Servers] says what
//     they are. A level is ok, warning or error; a class denied, unavailable or
//     none.
//   - "forget": forget deletes all that is kept of a lock whose name is never used
//     again, if nobody holds it or waits for it; otherwise nothing, and the error
//     is held.
//
// A method that is not known is answered with an error of class usage.
//
// # Errors
//
// An error has a message and, unless nothing fits, a class:
//
//   - held: somebody else holds the lock. It has a status: held, holder,
//     run_id, host, pid, since, ttl_ns, left_ns, token, waiters, no_resign, start;
//     as much as is known. left_ns is below 0 when the lease is over and nobody
//     has taken the lock since; start is clean or takeover.
//   - lost: the lock, or the place in the queue, is surely not ours any more.
//     Final, and never a guess: it kills the job.
//   - denied: for lack of permission; another attempt would fare no better.
//   - unavailable: the server gave no answer. Worth another attempt; so is an
//     error without a class.
//   - usage: what was asked for makes no sense. Nothing was contacted.
//   - no_lease: only from renew, if there is nothing to renew (yet).
//
// It may have op and backend, which make the message read `op "name" on
// backend: message`, and a hint, a sentence on what to do. No text has a
// password in it.
//
// # Events
//
// A waiting acquire reports what it waits for, each time that changes; lease_ns
// is the TTL of our place in the queue, if it has one and must be renewed:
//
//	{"event":"waiting","id":2,"waiting":{"status":{"held":true,"holder":"web-1"},"lease_ns":15000000000,"position":1}}
//
// After a grant, and before the answer to a release, it says what the holder is
// asked. If that is more than the core reads, the last one is what counts:
//
//	{"event":"asked","text":"resign"}
//
// A list that has no room in its answer comes in parts, and a watch tells that
// something is, or may be, as it was not before; the first time, that it begins:
//
//	{"event":"listed","id":5,"page":[{"name":"jobs","status":{"held":true},"record":"text"}]}
//	{"event":"changed","id":6}
//
// After a grant, and before the answer to a release, the helper may say once
// that the lock was lost between two renewals:
//
//	{"event":"lost","error":{"class":"lost","message":"the key was deleted"}}
//
// # Trust
//
// Neither end trusts the other's lines. What the core cannot make sense of (no
// JSON, a line that is too long, half a line, an event that is not known, an
// answer to no request or a second one, a number out of range) ends the session
// and the helper, and every call returns ErrUnavailable. A helper exits on such
// a line with a message and status 70.
//
// # When a helper dies
//
// A helper that is dead or silent is a backend that has stopped to renew: the
// deadline in the core rules. If it had given a term with the grant, the core starts
// another, with the same open and that term:
//
//	{"id":1,"method":"open",…,"term":"…"}
//
// It answers without asking the server whether the lock is still ours, and extends
// nothing: that is what the next renew is for. Its input is the same pipe, without
// what the first one has not read.
//
// Only a lock with a ttl_ns of 0 is lost with its helper. A backend whose locks end
// with its process should not be in a helper at all, as somebody else can have the
// lock before the core has heard of it.
//
// # When the core is dead
//
// The input lasts until the last process that has its other end is gone. One
// that survives the core, and knows the job dead, may write a request of its
// own, with an id that the core cannot have used:
//
//	{"id":"guard","method":"release"}
//
// It never gets into the middle of another line: the core writes each line at
// once, and those after open are shorter than what POSIX has a pipe take whole
// (512 bytes), but for set_record, ask and list. If the core dies in the midst of
// one of these, the line makes no sense, and the lock ends with its lease. The
// helper makes the release even if the input ends meanwhile, in at most 5 s, and
// even if nobody reads its answers.
package helper
