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

// flock(2) causes no event. But a holder writes its name into the lock file once it has
// locked it, and writes that the lock is free before it unlocks it. When its last process
// dies, the file that it had written to is closed. All of these cause events of the
// directory. The latter two come a moment before the lock is free, so an observer may
// look too early. Therefore each event is reported again a little later.
//
// Reading, as Inspect does, causes no event that we watch for: otherwise an observer that
// inspects after each report would never stop.

// echoes are the delays after which an event is reported again. The longer one is for a
// holder that a busy machine keeps from unlocking.
var echoes = [...]time.Duration{10 * time.Millisecond, 150 * time.Millisecond}

// searchPause is the time between two looks for a missing directory. If no inotify
// instance is left, it is the time between two reports.
const searchPause = 250 * time.Millisecond

// A follower reports changes in the directory of the locks.
type follower struct {
	locker  *Locker
	file    string // the name of the one file that matters; "" for any lock and any record
	changed chan struct{}
}

// Watch implements [locks.Watcher]. The directory need not exist yet.
func (l *Locker) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	f := &follower{locker: l, changed: make(chan struct{}, 1)}
	if !all {
		f.file = filepath.Base(l.path)
	}
	events, err := interruptible(ctx, l, "watch", f.watch)
	if isAny(err, syscall.EMFILE, syscall.ENOSPC) {
		l.log.Info("no inotify watch is left; reporting a possible change every 250ms", "err", err)
		events, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	go f.run(ctx, events)
	return f.changed, nil
}

// run follows the directory, and looks for it when it is gone, until ctx or the handle
// ends. events is nil if the directory did not exist or could not be watched.
func (f *follower) run(ctx context.Context, events *os.File) {
	defer close(f.changed)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-f.locker.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	for ctx.Err() == nil {
		if events != nil {
			f.follow(ctx, events)
			_ = events.Close() // only read
			f.notify()
		}
		events = f.search(ctx)
		f.notify()
	}
}

// search waits until the directory exists or, if it cannot be watched, until the next
// report is due.
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

// notify sends a value unless one is waiting to be received.
func (f *follower) notify() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// watch returns a file from which to read the events of the directory, or nil if the
// directory does not exist.
func (f *follower) watch() (*os.File, error) {
	dir, err := f.locker.findLocalDir()
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // only read
	const mask = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_DELETE | unix.IN_MOVE | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
	events, err := notify(subject{f.locker.place.dir, mask | unix.IN_ONLYDIR})
	if isAbsent(err) {
		return nil, nil
	}
	return events, err
}

// follow reports events until the directory is gone or ctx ends.
func (f *follower) follow(ctx context.Context, events *os.File) {
	defer context.AfterFunc(ctx, func() { _ = events.SetReadDeadline(time.Unix(1, 0)) })()
	var last time.Time
	echo := len(echoes)
	for buf := make([]byte, 16<<10); ; {
		var next time.Time
		if echo < len(echoes) {
			next = last.Add(echoes[echo])
		}
		_ = events.SetReadDeadline(next) // if this fails, the read fails
		if ctx.Err() != nil {
			return
		}
		n, err := events.Read(buf)
		switch matters, gone := f.judge(buf[:max(n, 0)]); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			echo++
			f.notify()
		case err != nil, gone:
			return
		case matters:
			last, echo = time.Now(), 0
			f.notify()
		}
	}
}

// judge parses events, see inotify(7). It reports whether one of them matters, and
// whether the directory is gone.
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

// about reports whether a file is one that we watch.
func (f *follower) about(name string) bool {
	if f.file != "" {
		return name == f.file
	}
	return strings.HasSuffix(name, suffix) || strings.HasSuffix(name, recordSuffix)
}

var _ locks.Watcher = (*Locker)(nil)
