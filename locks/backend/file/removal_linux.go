package file

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const watches = true

// awaitRemoval calls gone once path no longer leads to the file that info describes,
// unless ctx ends before, and touched when that file was touched. It does not poll. It
// returns an error if it cannot watch.
func awaitRemoval(ctx context.Context, path string, info os.FileInfo, gone, touched func()) error {
	// If a deleted file is still open, its link count changes, which is IN_ATTRIB. It is
	// gone (IN_DELETE_SELF) only when it is closed.
	events, err := notify(subject{path, unix.IN_ATTRIB | unix.IN_MOVE_SELF | unix.IN_DONT_FOLLOW}, subject{filepath.Dir(path), unix.IN_MOVE_SELF})
	if isAbsent(err) {
		gone()
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = events.Close() }() // only read; slow, see patience
	defer context.AfterFunc(ctx, func() { _ = events.SetReadDeadline(time.Unix(1, 0)) })()
	for buf := make([]byte, 4096); ; {
		// We may be watching another file that was put there just before. So check the
		// path once the watch works, and after each event.
		if current, err := isCurrent(path, info); err == nil && !current {
			gone()
			return nil
		}
		touched()
		_, err := events.Read(buf)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// A subject is a path to watch for the events in mask: see inotify(7).
type subject struct {
	path string
	mask uint32
}

// notify returns a file that can be read after an event of one of the subjects.
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
