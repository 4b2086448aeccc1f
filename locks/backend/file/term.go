package file

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A term is a held lock.
type term struct {
	file   *os.File    // carries the flock
	info   os.FileInfo // of that file
	path   string
	ledger ledger
	entry  entry // our entry
	clean  bool  // the previous holder released

	busy workers.Turn // to write the record, or to end the term

	unwatch func() // ends the watch and waits for it; nil if there is none
}

// release marks the lock as free, frees it for every process that shares the open file,
// and ends the term. If the mark cannot be written, the next holder's grant is not clean.
func (t *term) release() error {
	_ = t.ledger.free(t.entry)
	err := unlock(t.file)
	t.end()
	return err
}

// end closes the file before it ends the watch, which may take the kernel a while.
func (t *term) end() {
	_ = t.file.Close() // nothing in it needs to reach the disk
	if t.unwatch != nil {
		t.unwatch()
	}
}

// abandon ends the term, at once unless the record is being written. A write must not
// outlast the lock, and nobody can wait for it on a hanging disk.
func (t *term) abandon() {
	select {
	case t.busy <- struct{}{}:
		t.end()
		t.busy.Leave()
	default:
		go func() {
			t.busy <- struct{}{}
			t.end()
			t.busy.Leave()
		}()
	}
}

// patience is how long a lock is held before it is worth a watch. Ending one takes Linux
// up to 15 ms (closing an inotify instance waits for an SRCU grace period), which a short
// job should not pay for.
const patience = 200 * time.Millisecond

// watch calls lost, at most once, when path leads elsewhere, if that can be watched, and
// touched when there may be a request to the holder.
func (t *term) watch(log *slog.Logger, lost, touched func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(done)
		if err := awaitRemoval(ctx, t.path, t.info, lost, touched); err != nil {
			log.Info("cannot watch the lock file; leaderrun will not notice its removal", "path", t.path, "err", err)
			poll(ctx, touched)
		}
	})
	t.unwatch = func() {
		cancel()
		if !timer.Stop() {
			<-done
		}
	}
}

// isCurrent reports whether path still leads to the file that info describes. If there is
// an error, that is unknown.
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
