// Package oracle judges the records (package trace) and the output of a fleet's jobs and
// of the programs that run them. It asks nothing else, neither a server nor a leaderrun.
//
// A History is the records of one lock that several hosts contended for. Judge
// checks that
//
//   - no processes of two terms ever existed at the same time (Alone);
//   - the history is one of a mutex with fencing tokens, as checked by porcupine, a
//     checker of linearizability that knows only the model;
//   - the register that the jobs wrote to has refused nobody, and has accepted no
//     token lower than an earlier one;
//   - no job has lived after the end of its lease, as leaderrun told it after that moment;
//   - no term has outlived the lease that it had when its lock was taken away, and a holder says
//     by whom and why;
//   - no process of a term has outlived its leaderrun or, if that was killed, its lease;
//     and at the end no process with the fleet's cookie is left;
//   - no job was killed while it ended in the time that it is allowed, and its lease was renewed;
//   - with --once-per, no job has succeeded in a window in which another had, unless that could not
//     be recorded;
//   - no term with --priority has begun while a leaderrun of greater priority waited, which nothing
//     had disturbed;
//   - no hook has run at the same time as its job, and no job of a service without its first hook,
//     also in a term that a leaderrun got after a loss;
//   - tokens rise from term to term;
//   - no leaderrun, guard or helper has crashed, according to their output.
//
// Nothing excuses any of these, and none is repeated. An overlap that no margin could prevent,
// because both killers got no processor for longer, fails as well, but is counted apart.
//
// A term is what one leaderrun, or a peer, started under one token: a job, the same job
// again after a restart, hooks, and the processes that these have started. It lasts from the
// first recorded moment of any of them to the last.
//
// # Records
//
// Package trace defines the entries of the file. In addition:
//
//   - began has in Call the moment before leaderrun was started, or in At a moment soon
//     after, and in What Service for a leaderrun with hooks, or the Rank of one with --priority.
//   - start has in What "job", "child" for a process that a job has started, or the name of
//     a hook, "elected" or "resign". A term has ended by itself if its last job has written
//     end, success or failure.
//   - ran with Status 137 leaves open whether leaderrun was killed, or its job was and
//     leaderrun reports that. leaderrun was killed if a fault while it ran has the words
//     "kill" and "leaderrun" in What, and its process id in Leaderrun or, if that is 0,
//     its host in Host.
//   - write names its job by Token and, if present, Host and Leaderrun.
//   - a job knows the end of its lease only as of the last time that it asked. A job that
//     was frozen must ask again before it writes end, or may seem to have outlived its
//     lease.
package oracle
