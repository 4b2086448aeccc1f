package file

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
)

// flock(2) makes no event. But a holder writes its name into the lock file once it
// has locked that, and that it is free before it unlocks it; and when its last
// process dies, the file that it had written to is closed. These are events of the
// directory. The latter two come a moment before the lock is free, so that who
// looks at once may look too early: each is told again a little later.
//
// What only reads, such as Inspect, makes no event that is watched for: who
// inspects when told would be told for ever.

// echoes are how long after an event that is told again. The longer one is for a
// holder whom a busy machine kept from unlocking.
var echoes = [...]time.Duration{10 * time.Millisecond, 150 * time.Millisecond}

// searchPause is the pause between two looks for a directory that is not there,
// and, where there is no inotify instance left, between two values.
const searchPause = 250 * time.Millisecond

// A follower tells of changes in the directory of the locks.
type follower struct {
	*Locker
	file    string // the name of the one file that matters; "": of any lock and any record
	changed chan struct{}
}

// Watch implements [locks.Watcher]. The directory need not be there yet.
func (l *Locker) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	f := &follower{Locker: l, changed: make(chan struct{}, 1)}
	if !all {
		f.file = filepath.Base(l.path)
	}
	events, err := away(ctx, l, "watch", f.watch)
	if isAny(err, syscall.EMFILE, syscall.ENOSPC) {
		l.log.Info("no inotify watch is left; there may be changes at any time", "err", err)
		events, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	go f.run(ctx, events)
	return f.changed, nil
}

// run follows the directory, and looks for it when it is gone, until ctx or the
// handle ends. No events mean that it was not there, or could not be watched.
func (f *follower) run(ctx context.Context, events *os.File) {
	defer close(f.changed)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-f.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	for ctx.Err() == nil {
		if events != nil {
			f.follow(ctx, events)
			_ = events.Close() // it was only read
			f.tell()
		}
		events = f.search(ctx)
		f.tell()
	}
}

// search waits until the directory is there, and then, or if it cannot be watched,
// until that is to be told.
func (f *follower) search(ctx context.Context) *os.File {
	for {
		select {
		case <-time.After(searchPause):
		case <-ctx.Done():
			return nil
		}
		events, err := f.watch()
		if events != nil || err != nil {
			return events
		}
	}
}

// tell leaves a value unless there is one.
func (f *follower) tell() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// watch returns a file from which the events of the directory can be read, or nil
// if that is not there.
func (f *follower) watch() (*os.File, error) {
	dir, err := f.findLocalDir()
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // it was only read
	const mask = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_DELETE | unix.IN_MOVE | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
	events, err := notify(subject{f.place.dir, mask | unix.IN_ONLYDIR})
	if isAbsent(err) {
		return nil, nil
	}
	return events, err
}

// follow tells of what happens until the directory is gone, or ctx ends.
func (f *follower) follow(ctx context.Context, events *os.File) {
	defer context.AfterFunc(ctx, func() { _ = events.SetReadDeadline(time.Unix(1, 0)) })()
	var told time.Time
	echo := len(echoes)
	for buf := make([]byte, 16<<10); ; {
		var next time.Time
		if echo < len(echoes) {
			next = told.Add(echoes[echo])
		}
		_ = events.SetReadDeadline(next) // what fails here fails at the read
		if ctx.Err() != nil {
			return
		}
		n, err := events.Read(buf)
		switch matters, gone := f.judge(buf[:max(n, 0)]); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			echo++
			f.tell()
		case err != nil, gone:
			return
		case matters:
			told, echo = time.Now(), 0
			f.tell()
		}
	}
}

// judge reads events, see inotify(7): whether one of them matters, and whether the
// directory is gone.
func (f *follower) judge(events []byte) (matters, gone bool) {
	for len(events) >= unix.SizeofInotifyEvent {
		mask := binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name := unix.ByteSliceToString(events[unix.SizeofInotifyEvent:end])
		events = events[end:]
		switch {
		case mask&(unix.IN_IGNORED|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) != 0:
			gone = true
		case mask&unix.IN_Q_OVERFLOW != 0, f.about(name):
			matters = true
		}
	}
	return matters, gone
}

// about reports whether a file is one of those that are watched.
func (f *follower) about(name string) bool {
	if f.file != "" {
		return name == f.file
	}
	return strings.HasSuffix(name, suffix) || strings.HasSuffix(name, recordSuffix)
}

var _ locks.Watcher = (*Locker)(nil)
