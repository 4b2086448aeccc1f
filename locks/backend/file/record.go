package file

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/leaderrun/leaderrun/locks"
)

// The record is a file beside the lock file. The holder of the lock writes a new one
// under another name, makes it durable, and renames it over the old one.

const recordSuffix = ".record"

// Record implements [locks.Recorder].
func (l *Locker) Record(ctx context.Context) ([]byte, error) {
	return interruptible(ctx, l, "read the record", l.readRecord)
}

func (l *Locker) readRecord() ([]byte, error) {
	text, err := l.readBeside(recordSuffix, locks.MaxRecord)
	if err != nil || text == nil {
		return nil, err
	}
	if locks.CheckText(text) != nil {
		return nil, fault(nil, elsewhere, "%q is not a record", l.beside(recordSuffix))
	}
	return text, nil
}

// SetRecord implements [locks.Recorder]. The lock is not released while it runs.
func (l *Locker) SetRecord(ctx context.Context, text []byte) error {
	if err := locks.CheckText(text); err != nil {
		return err
	}
	t := l.current()
	if t == nil {
		return l.fail("set the record", locks.LostError("the lock is not held"))
	}
	text = append([]byte{}, text...) // the caller may reuse it before we are done
	_, err := interruptible(ctx, l, "set the record", func() (struct{}, error) { return struct{}{}, l.setIn(ctx, t, text) })
	return err
}

// setIn sets the record in a term, unless the term has ended meanwhile.
func (l *Locker) setIn(ctx context.Context, t *term, text []byte) error {
	if err := t.busy.Take(ctx); err != nil {
		return err
	}
	defer t.busy.Leave()
	if l.current() != t {
		return locks.LostError("the lock is no longer held")
	}
	return l.replace(recordSuffix, text, t.check, synced)
}

// current returns the term, or nil before and after it.
func (l *Locker) current() *term {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term
}

// check returns ErrLost if path leads elsewhere: another may hold the lock on the file
// that is there.
func (t *term) check() error {
	current, err := isCurrent(t.path, t.info)
	if err == nil && !current {
		return locks.LostError(t.path + " was deleted or replaced")
	}
	return err
}

// beside returns the path of the file of this lock with the given suffix.
func (l *Locker) beside(suffix string) string {
	return filepath.Join(l.place.dir, fileStem(l.o.Name)+suffix)
}

// readBeside returns the content of a file of this lock, or nil if it is absent.
func (l *Locker) readBeside(suffix string, limit int) ([]byte, error) {
	f, err := l.openBeside(suffix, os.O_RDONLY)
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(text) > limit {
		return nil, fault(nil, elsewhere, "%q has more than %d bytes", f.Name(), limit)
	}
	return text, nil
}

// Whether a file must have reached the disk.
const (
	synced   durability = true
	unsynced durability = false
)

type durability bool

// replace replaces a file of this lock in one step, if check, called just before that,
// returns nil.
func (l *Locker) replace(suffix string, content []byte, check func() error, durable durability) error {
	dir, err := l.findLocalDir()
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // what must reach the disk has been synced
	path := filepath.Join(l.place.dir, newName())
	if err := write(dir, path, content, durable == synced); err != nil {
		return err
	}
	err = check()
	if err == nil {
		err = renameIn(dir, path, l.beside(suffix))
	}
	if err != nil {
		_ = removeIn(dir, path) // at worst it stays there
		return err
	}
	if durable == unsynced {
		return nil
	}
	return syncDir(dir)
}

// newName returns a random name that no lock and none of a lock's files has: those have no "~".
func newName() string { return "~" + strconv.FormatUint(rand.Uint64(), 36) }

func write(dir *os.File, path string, content []byte, durable bool) error {
	f, err := openIn(dir, path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && durable {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = removeIn(dir, path) // at worst it stays there
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

var _ locks.Recorder = (*Locker)(nil)
