// Package oracle judges what the jobs of a fleet, and whoever runs them, have
// written down (package trace) or printed. Nothing else is asked: no server, and no
// leaderrun.
//
// A History is the records of one lock that several hosts contended for. Judge
// checks that
//
//   - nothing of two terms was ever there at one time (Alone);
//   - the history is one of a mutex with fencing tokens, of which porcupine, a checker
//     of linearizability, knows nothing but the model;
//   - the register that the jobs wrote to has refused nobody, and has accepted no
//     token lower than one before;
//   - nothing of a term has outlived its leaderrun or, if that was killed, its lease;
//     and at the end nothing with the fleet's cookie is left;
//   - tokens rise from term to term;
//   - no leaderrun, guard or helper has crashed, as what they have printed tells.
//
// A term is what one leaderrun, or a peer, started under one token: a job, the same
// job again after a restart, and what these have started. It lasts from the first
// moment of which one of them tells to the last.
//
// # Records
//
// What the entries of the file mean is said in package trace; this is what matters
// here besides:
//
//   - began has in Call the moment before leaderrun was started, or in At one soon
//     after.
//   - start has in What "job", or "child" for what a job has started. A term has
//     ended by itself if its last job has written end, success or failure.
//   - ran with Status 137 does not tell whether leaderrun was killed, or its job and
//     leaderrun says so. It was killed if there is a fault while it ran whose What
//     has the words "kill" and "leaderrun", and whose Leaderrun is its process id or,
//     if that is 0, whose Host is its host.
//   - write names its job by Token and, if they are there, Host and Leaderrun.
//   - until when its lease lasts, a job knows only as of the last time that it asked.
//     One that was frozen must ask again before it writes end, or may seem to have
//     outlived its lease.
package oracle
