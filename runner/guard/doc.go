// Package guard keeps a job by two processes, each of which can kill all of it
// when the other one is dead, frozen or starved: leaderrun, and the guard, which
// is the same program in another role.
//
// The guard is the job's parent, and as a subreaper the foster parent of all
// that the job leaves behind: what descends from the guard is the job, and when
// the guard has no child left, nothing of it is. It kills the job when it is
// told to, when leaderrun has died, which closes the socket between them, and
// when a moment has passed that leaderrun, as long as it renews, keeps moving.
// It needs nothing from leaderrun for that.
//
// If the guard dies, leaderrun inherits its children, kills them, and reports
// the failure. The same if the guard does not answer in time.
//
// On Windows the job is what is in a Job Object, and the socket is a pipe; see
// [Client] there.
//
// # What they say
//
// The socket is a stream of frames: a byte that says what, the length of the
// rest in four, and the rest. Numbers are in network order.
//
//	leaderrun to guard
//	W  the files of proc.OnDeath come with this byte; one byte says which: 1 hold, 2 release;
//	   on Windows the guard's handles of them follow, in eight bytes each
//	S  start: deadline, flags (1 the job gets the terminal, 2 its standard input is
//	   the null device), path, arguments, environment, what is written to release,
//	   what is to be removed, the containment
//	D  deadline: the moment, on the boot clock, at which the job is to be killed
//	s  signal the first process's group (Windows: CTRL_BREAK)
//	t  stop: signal all of the job, and continue what was stopped
//	K  kill all of the job
//	A  a part of what B says, before the rest of it
//	B  start a health check: its number, path, arguments, environment
//	b  kill the health check, if it has this number
//
//	guard to leaderrun
//	P  started: process id, tier, why it is no stronger one, path of the cgroup
//	N  not started, for want of the containment: why
//	E  not started: errno, or the error code of Windows
//	D  a deadline is armed
//	k  a kill was received
//	T  the first process was stopped: by which signal
//	X  the first process has ended: its wait status, and whether nothing is left
//	G  nothing of the job is left now
//	p  health check started: process id
//	e  health check not started: errno, or the error code of Windows
//	x  the health check has ended: its wait status
//
// A health check is a part of the job. There is one at most, so only an order that may
// come too late says which one it means. It is not the first process: what becomes of it
// is told by frames of its own, which come before a G, and s does not reach it.
package guard
