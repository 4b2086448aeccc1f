package file

import (
	"context"
	"log/slog"
	"os"
	"time"
)

// A term is a held lock.
type term struct {
	file   *os.File    // carries the flock
	info   os.FileInfo // of that file
	path   string
	ledger ledger
	entry  entry // ours
	clean  bool  // the holder before us released

	busy turn // of who writes the record, or ends the term

	unwatch func() // ends the watch and waits for it; nil if there is none
}

// release marks the lock as free, frees it for every process that shares the
// open file, and ends the term. A mark that could not be written only makes the
// next holder's grant unclean.
func (t *term) release() error {
	_ = t.ledger.free(t.entry)
	err := unlock(t.file)
	t.end()
	return err
}

// end closes the file. It comes before the end of the watch, which may take the
// kernel a while.
func (t *term) end() {
	_ = t.file.Close() // nothing in it needs to reach the disk
	if t.unwatch != nil {
		t.unwatch()
	}
}

// abandon ends the term, at once unless the record is just being written. That
// must not outlast the lock, and on a disk that hangs nobody can wait for it.
func (t *term) abandon() {
	select {
	case t.busy <- struct{}{}:
		t.end()
		t.busy.leave()
	default:
		go func() {
			t.busy <- struct{}{}
			t.end()
			t.busy.leave()
		}()
	}
}

// patience is how long a lock is held before it is worth a watch. To end one
// takes Linux up to 15 ms (closing an inotify instance waits for an SRCU grace
// period), which a short job should not pay for.
const patience = 200 * time.Millisecond

// watch calls lost, at most once, when path leads elsewhere, where that can be
// watched, and heed when the holder may have been asked something.
func (t *term) watch(log *slog.Logger, lost, heed func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(done)
		if err := awaitRemoval(ctx, t.path, t.info, lost, heed); err != nil {
			log.Info("cannot watch the lock file; its removal would go unnoticed", "path", t.path, "err", err)
			poll(ctx, heed)
		}
	})
	t.unwatch = func() {
		cancel()
		if !timer.Stop() {
			<-done
		}
	}
}

// isCurrent reports whether path still leads to the file that info describes.
// An error leaves that open.
func isCurrent(path string, info os.FileInfo) (bool, error) {
	now, err := os.Lstat(path)
	switch {
	case err == nil:
		return os.SameFile(now, info), nil
	case isAbsent(err):
		return false, nil
	}
	return false, err
}
