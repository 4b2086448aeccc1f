package file

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
)

const watches = true

// awaitRemoval calls gone once path no longer leads to the file that info
// describes, unless ctx ends before, and heed when that file was touched. It
// does not poll. An error says that it cannot tell.
func awaitRemoval(ctx context.Context, path string, info os.FileInfo, gone, heed func()) error {
	// A deleted file that is still open has its link count changed, which is
	// IN_ATTRIB; it is gone (IN_DELETE_SELF) only when it is closed.
	events, err := notify(subject{path, unix.IN_ATTRIB | unix.IN_MOVE_SELF | unix.IN_DONT_FOLLOW}, subject{filepath.Dir(path), unix.IN_MOVE_SELF})
	if isAbsent(err) {
		gone()
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = events.Close() }() // it was only read; slow, see patience
	defer context.AfterFunc(ctx, func() { _ = events.SetReadDeadline(time.Unix(1, 0)) })()
	for buf := make([]byte, 4096); ; {
		// What is watched may be another file, put there just before; so the
		// path is looked at once the watch stands, and after each event.
		if current, err := isCurrent(path, info); err == nil && !current {
			gone()
			return nil
		}
		heed()
		_, err := events.Read(buf)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// A subject is something that is watched, for what the mask says: see inotify(7).
type subject struct {
	path string
	mask uint32
}

// notify returns a file that can be read when something happened to one of the
// subjects.
func notify(subjects ...subject) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	f := os.NewFile(uintptr(fd), "inotify")
	for _, s := range subjects {
		if _, err := unix.InotifyAddWatch(fd, s.path, s.mask); err != nil {
			_ = f.Close() // nothing was read
			return nil, os.NewSyscallError("inotify_add_watch", err)
		}
	}
	return f, nil
}

// notices finds out whether there is anything to watch with.
func notices() []locks.Finding {
	f, err := notify()
	if err != nil {
		return []locks.Finding{{
			Check: "inotify", Level: "warning", Text: err.Error() + "; a lock file that is deleted goes unnoticed",
			Fix: "raise fs.inotify.max_user_instances with sysctl, or end what uses them up",
		}}
	}
	_ = f.Close() // nothing was read
	return []locks.Finding{{Check: "inotify", Level: "ok"}}
}
