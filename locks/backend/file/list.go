package file

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// A listing reads the names in the directory once, for its first page, and then looks at
// the locks page by page, in the order of their file names. The cursor is the last of
// these. Files made meanwhile may be missing. A handle that gets the cursor of another
// handle reads the names again.

// List implements [locks.Lister]. It lists whatever has a lock file or a record.
func (l *Locker) List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	type answer struct {
		page []locks.Listed
		next string
	}
	a, err := interruptible(ctx, l, "list locks", func() (a answer, err error) {
		a.page, a.next, err = l.list(ctx, cursor)
		return a, err
	})
	return a.page, a.next, err
}

func (l *Locker) list(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	stems, err := l.stemsAfter(cursor)
	if err != nil {
		return nil, "", err
	}
	for i, stem := range stems {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		name, ok := nameOf(stem)
		if !ok {
			continue
		}
		listed, ok, err := l.other(name).listed()
		if err != nil {
			return nil, "", err
		}
		if !ok {
			continue
		}
		page = append(page, listed)
		if len(page) == locks.MaxList && i < len(stems)-1 {
			return page, stem, nil
		}
	}
	l.listing(nil)
	return page, "", nil
}

// stemsAfter returns the names of the current listing that come after a cursor.
func (l *Locker) stemsAfter(cursor string) ([]string, error) {
	l.mu.Lock()
	stems := l.stems
	l.mu.Unlock()
	if stems == nil || cursor == "" {
		var err error
		if stems, err = l.readStems(); err != nil {
			return nil, err
		}
		l.listing(stems)
	}
	i, found := slices.BinarySearch(stems, cursor)
	if found {
		i++
	}
	return stems[i:], nil
}

func (l *Locker) listing(stems []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stems = stems
}

// readStems returns, sorted, the stems of the files in the directory that may belong to a
// lock.
func (l *Locker) readStems() ([]string, error) {
	dir, err := l.findLocalDir()
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // only read
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	stems := names[:0]
	for _, name := range names {
		if stem, ok := cutSuffixes(name, suffix, recordSuffix); ok {
			stems = append(stems, stem)
		}
	}
	slices.Sort(stems)
	return slices.Compact(stems), nil
}

func cutSuffixes(s string, suffixes ...string) (string, bool) {
	for _, end := range suffixes {
		if stem, ok := strings.CutSuffix(s, end); ok {
			return stem, true
		}
	}
	return s, false
}

// other returns a handle on another lock in the same directory, to look at it.
func (l *Locker) other(name string) *Locker {
	o := newLocker(l.place, locks.Options{Name: name, Logger: l.log})
	o.fileSystem, o.boot, o.now = l.fileSystem, l.boot, l.now
	return o
}

// listed returns the lock of this handle. It returns false if the lock is gone, or if its
// file cannot be used as a lock, which it logs.
func (l *Locker) listed() (locks.Listed, bool, error) {
	st, err := l.look()
	if isDistrusted(err) {
		l.log.Warn("skipping a file that cannot be a lock", "path", l.path, "err", err)
		return locks.Listed{}, false, nil
	}
	if err != nil {
		return locks.Listed{}, false, err
	}
	text, err := l.readRecord()
	if err != nil {
		l.log.Warn("cannot read a record", "path", l.beside(recordSuffix), "err", err)
	}
	if _, err := os.Lstat(l.path); text == nil && isAbsent(err) {
		return locks.Listed{}, false, nil
	}
	return locks.Listed{Name: l.o.Name, Status: st.Status, Record: text}, true, nil
}

var _ locks.Lister = (*Locker)(nil)
