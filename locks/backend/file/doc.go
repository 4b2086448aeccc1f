// Package file keeps locks in files of one machine: flock(2) on one file per lock, in a
// directory that no other user can write, or that a group shares. It needs nothing
// installed.
//
// # URL
//
//	file:            LEADERRUN_FILE_DIR if that is set; else /var/lib/leaderrun
//	                 for root and $HOME/.local/state/leaderrun otherwise, with the
//	                 home of the password database if HOME names none
//	file:///dir      that directory; write a "?", "#" or "%" in it as %3F, %23 or
//	                 %25
//	file:///dir?fs=any, file:?fs=any
//	                 the same directory, even if its file system is not known to
//	                 be local: see Limits
//
// $XDG_RUNTIME_DIR is not used, because cron does not set it, and a user must get the
// same lock in cron and in a shell. A directory that does not exist is made, accessible
// only by its owner; for an explicit directory, only its last element is made.
//
// # Liveness
//
// There is no lease and nothing to renew. The system holds the lock as long as the open
// file description that carries it exists, and frees it the moment the last process that
// has it open is gone, for whatever reason. Another process may get the description
// ([Locker.File]); then the lock outlives us.
//
// On Linux, Lost reports that a lock file was deleted, renamed or replaced, or that its
// directory was renamed: from then on others would lock another file. The watch for that
// begins when a lock has been held for 200 ms. On other systems nothing is noticed. A
// waiter for a lock whose file is deleted waits until its holder is gone; a later
// contender gets a new lock at once.
//
// A waiter sleeps in flock(2). A Go program cannot interrupt that call, so a cancelled
// Acquire returns at once and leaves the call behind. If that call ever gets the lock, it
// gives it back at once. Another contender that does not wait may find the lock held in
// that moment. The kernel decides the order of waiters.
//
// # Inspecting
//
// To learn whether a lock is held, Inspect tries to share it. That fails if there is a
// holder; otherwise Inspect shares the lock for microseconds. A contender that does not
// wait (-n) detects this and tries again, for up to 40 ms. Other programs that lock the
// same file, such as flock(1), may find it locked in that moment. Inspect reads the
// holder from the lock file. It does not know the waiters.
//
// A listing is based on the names of the files in the directory. It includes whatever has
// a lock file, held or not, and whatever has only a record. It leaves out, with a
// warning, what cannot be used as a lock, such as a symbolic link. A file that we may not
// read is an error.
//
// On Linux, inotify on the directory reports a change at once, and again 10 and 150 ms
// later, because the file is written, or closed, shortly before the kernel frees the
// lock. If the directory does not exist, or is gone, Watch looks for it every 250 ms. If
// no inotify instance is left, Watch reports a change every 250 ms. A failed attempt to
// get the lock is also reported as a change.
//
// A lock cannot be taken away from its holder: it ends with the processes that have its
// file open. If the file were deleted instead, two could hold the lock.
//
// The record is a file beside the lock file, named NAME.record. A new record is written
// under another name, synced, and renamed over the old one while the lock is held, so
// that a power failure leaves one of the two. If an operator deletes the lock file in the
// microseconds between our last check and the rename, the next holder may find a record
// that we wrote after its term began.
//
// A request to the holder is a file NAME.ask that names the token it is for. On Linux the
// holder learns of it at once, after it has held the lock for 200 ms, because the
// requester touches the lock file, which the holder watches anyway. It does not wake up
// for changes to other locks. On other systems, or if no inotify instance is left, it
// looks every 2 s. Both files stay. The holder ignores a request for another token.
//
// # Fencing token
//
// The token is a counter in the lock file. It is on disk ahead of its use, a thousand
// tokens at a time, in two copies, so that neither a power failure nor a damaged block
// makes it repeat. Within one boot, which the kernel's boot id identifies, the page cache
// is reliable and nothing is synced. After another boot the counter continues above all
// that was reserved. If there is no boot id (outside Linux and macOS, or without /proc),
// or with fs=any where necessary, each Acquire syncs.
//
// The counter of a new lock starts from the wall clock, in microseconds. So a lock whose
// file was deleted or damaged continues above all earlier tokens, because no counter
// overtakes the clock: a run takes longer than a microsecond. This holds unless the clock
// was set back; Forget refuses while the clock is behind the lock's tokens. A file that
// is restored from a backup or a snapshot repeats its tokens, and so may a file on a disk
// that is detached and attached again within one boot.
//
// A file with other content than ours, or blocks of zeros, is somebody else's: it is refused
// (ErrUsage) and not changed.
//
// # Permissions
//
// The directory and the lock file must belong to us or to root, and neither group nor
// others may be able to write them. We need to read and write both; to inspect or list
// locks, only to read. To forget a lock needs the same as to hold it. The same rules hold
// for the files beside the lock file. The lock file must be a regular file, not a
// symbolic link. If the last element of the directory is a link, like the StateDirectory
// of a systemd unit with DynamicUser, it is followed only if the link and all directories
// on the way belong to us or root and nobody else can write there. A sticky directory
// such as /tmp may be on the way, but the link must not be in it. So locks of different
// users are different locks.
//
// A group may share a directory: it belongs to root, the group and nobody else can write
// it, and it has the sticky bit. Its lock files have its group and the mode 0660, whoever
// owns them, and are refused otherwise. The members must trust each other: any can hold
// each lock, and write into its file, and the one that made a file can delete it. The
// sticky bit keeps all others from replacing it. No member can make us write a file that
// the members cannot write. There is no record and no request in such a directory, and
// only root and the owner of a file can forget its lock.
//
// # Limits
//
// One machine. A directory, or a lock file, on a file system that is not known to be
// local is refused, because flock may be local to each client there, or missing. With
// fs=any, file systems that may be local are accepted: FUSE, 9p, VxFS and any that
// leaderrun does not know. A file system made for several machines, such as NFS, is never
// accepted. The default directory of a container is private to it; to share a lock, mount
// the same directory.
//
// A full disk, or one without inodes, refuses new locks; a lock that is held lasts. Lock files
// take 12 KiB each, and no run deletes them, because that would break the
// exclusion. Forget deletes a lock's files while it holds the lock; a waiter for the file
// then finds that it is gone, and starts again. A crash while a record is written leaves
// a file whose name begins with "~".
//
// If a directory above the last element, or a link to it, is replaced or mounted over,
// nobody notices. If the user has no inotify instance left
// (fs.inotify.max_user_instances, often 128), nobody notices that a lock file was
// deleted. If a disk hangs, Acquire waits until its context ends.
package file
