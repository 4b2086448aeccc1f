// Package file keeps locks in files of one machine: flock(2) on a file per
// lock, in a directory that nobody else can write. It needs nothing installed.
//
// # URL
//
//	file:            LEADERRUN_FILE_DIR if that is set; else /var/lib/leaderrun
//	                 for root and $HOME/.local/state/leaderrun otherwise, with the
//	                 home of the password database if HOME names none
//	file:///dir      that directory; a "?", "#" or "%" in it is written %3F,
//	                 %23 or %25
//	file:///dir?fs=any, file:?fs=any
//	                 the same directory, though its file system is not known to
//	                 be local: see Limits
//
// $XDG_RUNTIME_DIR is not used, as cron has none, and a user must meet the same
// lock in cron and in a shell. A directory that does not exist is made, readable by
// its owner alone; of an explicit one only the last element.
//
// # Liveness
//
// There is no lease and nothing to renew: the system holds the lock for as long
// as the open file description lives that carries it, and frees it the moment
// the last process that has it open is gone, however that came about. Another
// process may be given the description ([Locker.File]); then the lock outlives
// us.
//
// On Linux, Lost reports a lock file that was deleted, renamed or replaced, or
// whose directory was renamed: from then on others would lock another file.
// That watch begins when a lock has been held for 200 ms. Elsewhere nothing is
// noticed. Who waits for a lock whose file is deleted goes on waiting until its
// holder is gone; who comes later has a new lock at once.
//
// A waiter sleeps in flock(2). That call cannot be interrupted in a Go program,
// so an Acquire that is cancelled returns at once and leaves the call behind;
// should it ever get the lock, it gives it back at once. Another contender that
// does not wait may find the lock held in that moment. The order of waiters is
// the kernel's.
//
// # Inspecting
//
// Whether a lock is held is told by an attempt to share it: that fails if there
// is a holder, and else lasts for microseconds. A contender that does not wait
// (-n) knows the difference and tries again, for up to 40 ms. Other programs that
// lock the same file, such as flock(1), may find it locked in that moment. The
// holder is read from the lock file. Who waits is not known.
//
// The locks of a directory are listed by the names of its files: whatever has a
// lock file, held or not, and what has nothing but a record. What nobody could use
// as a lock, such as a symbolic link, is left out with a warning. A file that we
// may not read is an error.
//
// On Linux, a change is told at once, and again 10 and 150 ms later, by inotify on
// the directory: what happens is written, or closed, shortly before the kernel
// frees the lock. A directory that is not there, or is gone, is looked for every
// 250 ms; as often a change is told where there is no inotify instance left. Someone
// who tries in vain to get the lock is told as a change, too.
//
// A lock cannot be taken away from its holder: it ends with the processes that
// have its file open. If that were deleted instead, two could hold the lock.
//
// The record is a file beside the lock file, named NAME.record. A new one is
// written under another name, synced, and renamed over the old one, while the
// lock is held, so that a power failure leaves either. An operator who deletes
// the lock file in the microseconds between our last look at it and the rename
// may see a record of the holder before.
//
// A request to the holder is a file NAME.ask, with the token that it is for. On
// Linux the holder hears of it at once, once it has held the lock for 200 ms, as
// who asks touches the lock file and that is watched already; it does not wake up
// for what happens to other locks. Elsewhere, or if there is no inotify instance
// left, it looks every 2 s. Both files stay; a request for another token is
// ignored.
//
// # Fencing token
//
// A counter in the lock file. It is on disk ahead of its use, a thousand tokens
// at a time, in two copies, so that no power failure and no damaged block makes
// it repeat. Within one boot, told by the kernel's boot id, the page
// cache is the truth and nothing is synced; after another boot the counter goes
// on above all that was reserved. Where there is no boot id (outside Linux and
// macOS, or without /proc), and with fs=any where that is needed, each Acquire syncs.
//
// A new lock's counter starts from the wall clock, in microseconds. So a lock
// whose file was deleted, or whose content is garbage, goes on above all
// earlier tokens, as no counter overtakes the clock: a run takes longer than a
// microsecond. That holds unless the clock was set back; a lock is not forgotten
// while the clock is behind its tokens. A file that is restored
// from a backup or a snapshot repeats its tokens, and so may one on a disk that
// is torn off and attached again within one boot.
//
// # Permissions
//
// The directory and the lock file must belong to us or to root, and neither may
// be writable by group or others; we need to read and write both, and to inspect
// a lock, or to list all, only to read. To forget a lock takes what it takes to
// hold it. The same holds for the files beside it. The lock file must be a regular
// file, and no symbolic link. If the last element of the directory is one, as the
// StateDirectory of a systemd unit with DynamicUser is, it is followed only if it and
// all directories on the way are ours or root's and nobody else can write there; a
// sticky directory such as /tmp may be on the way, but may not have the link in it.
// Locks of different users are therefore different locks. On Windows nothing of this is
// checked.
//
// # Limits
//
// One machine: a directory, or a lock file, on a file system that is not known to be
// local is refused, as flock may be local to each client there, or absent. With
// fs=any those are taken that may be local: FUSE, 9p, VxFS and all that leaderrun does
// not know. What is made for several machines, as NFS is, never is taken. The default
// directory of a container is its own; to share a lock, mount the same directory. Lock
// files take 12 KiB each, and no run deletes them: it
// would break the exclusion. To forget a lock deletes its files, with the lock held:
// who waits for the file then finds that it is gone, and begins anew. A crash in the midst of writing a record
// leaves a file whose name begins with "~". An overwritten directory higher up than
// the last element, or a link to it, or one mounted over, goes unnoticed. If the user has no
// inotify instance left (fs.inotify.max_user_instances, often 128), a deleted
// lock file goes unnoticed, too. A disk that hangs makes Acquire wait until its
// context ends.
//
// The Windows version uses LockFileEx and is untested.
package file
