// Package guard runs a job under two processes: leaderrun, and the guard, which is the same
// program in another role. Each can kill all of the job if the other is dead, frozen or
// starved.
//
// The guard is the job's parent, and a subreaper, which adopts processes of the job that lose
// their parent. So the descendants of the guard are the job, and when the guard has no child,
// nothing of the job is left. The guard kills the job when leaderrun orders it, when
// leaderrun dies, which closes the socket between them, and when a deadline has passed that
// leaderrun moves while it renews. It needs nothing from leaderrun for that.
//
// If the guard dies or does not answer in time, leaderrun inherits its children, kills them,
// and reports the failure.
//
// # Why it is safe
//
// The guard has two files that hold the lock. The first is the lock file's descriptor: nobody
// gets the lock before the job is dead. The second is the helper's standard input: when
// leaderrun has died and the job is proved dead, the guard writes a release there, so that the
// next holder need not wait for the lease to end. It then also removes the job's socket.
//
// The proof that nothing of the job is left is the kernel's: it says that the guard has no child
// (ECHILD), whatever its processes did to their group, session, environment or descriptors.
//
// The guard has failed if it dies, does not acknowledge a kill in time, has not acknowledged a
// newer deadline when the last one comes, or is silent after two pings (a lock of the backend
// file has no deadline). leaderrun is a subreaper, too, in every tier. A health check has a long
// environment, and a guard that gets no processor for a moment in the middle of it has not
// failed, because leaderrun does not need it then; orders about the job overtake the environment.
//
// leaderrun never waits for the guard, not even at the start: a job that has yet to start is
// supervised like any other, so a Ctrl-C and the loss of the lease are always handled. The guard
// never waits for leaderrun. It reports later what it could not report at once, so the end of the
// job is never lost.
//
// Health checks are a part of the job, so the guard starts them: they can look into the job's
// namespace and cgroup, a check that hangs is killed with the job, and none outlives the lease.
// The runner decides what a failure means.
//
// The first process and a health check have a parent-death signal, in case leaderrun and guard
// are both killed.
//
// The guard is a Go process, started by exec. A fork without exec would cost a tenth, but a Go
// process that was forked without exec has no scheduler, no timers and no memory of its own.
//
// # Protocol
//
// The socket is a stream of frames. A frame has one byte for its kind, four bytes for the
// length of the rest, and the rest. Numbers are in network order.
//
//	leaderrun to guard
//	W  the files of proc.OnDeath come with this frame; one byte says which: 1 hold,
//	   2 release
//	O  what to do if leaderrun dies before it sends S: the message that releases, the files to
//	   remove. W comes before it
//	S  start: deadline, flags (1 the job gets the terminal, 2 its standard input is
//	   the null device), path, arguments, environment, the message that releases,
//	   the files to remove, the containment
//	D  deadline: the moment, on the boot clock, at which the job is to be killed
//	s  signal the first process's group
//	t  stop: signal all of the job, and continue suspended processes
//	K  kill all of the job
//	A  a first part of what B contains; B has the rest
//	B  start a health check: its number, path, arguments, environment
//	b  kill the health check, if it has this number
//
//	guard to leaderrun
//	R  ready: the guard has all its threads. leaderrun sends no start before it. Until then,
//	   the guard's standard error is the socket
//	P  started: process id, tier, why no stronger one is used, path of the cgroup
//	N  not started, because the job cannot be contained: why
//	E  not started: errno
//	D  a deadline is armed
//	k  a kill was received
//	T  the first process was suspended: by which signal
//	X  the first process has ended: its wait status, whether nothing is left, and whether the
//	   deadline has passed
//	G  nothing of the job is left, and whether the deadline has passed
//	p  health check started: process id
//	e  health check not started: errno
//	x  the health check has ended: its wait status
//
// A health check is a part of the job. There is one at most, so only an order that may come
// too late names it by its number. The check is not the first process: it has separate
// frames, which come before a G, and s does not reach it.
package guard
