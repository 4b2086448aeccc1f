package file

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const watches = true

// awaitRemoval calls gone once path no longer leads to the file that info
// describes, unless ctx ends before, and heed when that file was touched. It
// does not poll. An error says that it cannot tell.
func awaitRemoval(ctx context.Context, path string, info os.FileInfo, gone, heed func()) error {
	events, err := notify(path)
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

// notify returns a file that can be read when something happened to the file at
// path, or to its directory, that can mean that path leads elsewhere. A deleted
// file that is still open has its link count changed, which is IN_ATTRIB; it is
// gone (IN_DELETE_SELF) only when it is closed.
func notify(path string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	f := os.NewFile(uintptr(fd), "inotify")
	_, err = unix.InotifyAddWatch(fd, path, unix.IN_ATTRIB|unix.IN_MOVE_SELF|unix.IN_DONT_FOLLOW)
	if err == nil {
		_, err = unix.InotifyAddWatch(fd, filepath.Dir(path), unix.IN_MOVE_SELF|unix.IN_DONT_FOLLOW)
	}
	if err != nil {
		_ = f.Close() // nothing was read
		return nil, os.NewSyscallError("inotify_add_watch", err)
	}
	return f, nil
}
