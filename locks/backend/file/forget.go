package file

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/leaderrun/leaderrun/locks"
)

// Forget implements [locks.Forgetter]. It deletes the lock file last, while it holds the
// lock. So a contender that opened the file before, and gets the lock on it after us,
// finds that the path no longer leads to it, and starts again: see campaign.lock. A
// contender that opens it later makes a new file.
func (l *Locker) Forget(ctx context.Context) error {
	_, err := interruptible(ctx, l, "forget", func() (struct{}, error) { return struct{}{}, l.forget(ctx) })
	return err
}

func (l *Locker) forget(ctx context.Context) error {
	dir, err := l.findLocalDir()
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // a lock file that comes back after a power failure is harmless
	for ctx.Err() == nil {
		if done, err := l.forgetIn(dir); done || err != nil {
			return err
		}
	}
	return ctx.Err()
}

// forgetIn returns false for done if the file that it locked is no longer the lock's.
func (l *Locker) forgetIn(dir *os.File) (done bool, err error) {
	f, err := l.openLock(dir) // make it if it is absent, or the files beside it could be a holder's
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // only locked
	c := campaign{l: l, try: true}
	if _, err := c.glance(f); err != nil {
		return false, err
	}
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if current, err := isCurrent(l.path, info); !current {
		return false, err
	}
	g := ledger{store: f, boot: l.boot(), now: l.now}
	if err := g.checkOurs(l.path); err != nil {
		return false, err
	}
	if err := g.mayStartAnew(); err != nil {
		return false, err
	}
	for _, path := range []string{l.beside(askSuffix), l.beside(recordSuffix), l.path} {
		if err := removeIn(dir, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, &fs.PathError{Op: "remove", Path: path, Err: err}
		}
	}
	return true, nil
}

// mayStartAnew returns an error unless the clock has passed every token in use, because
// the tokens of the next file start from it.
func (g ledger) mayStartAnew() error {
	last, err := g.last()
	if err != nil {
		return err
	}
	copies, _, err := g.copies()
	if err != nil {
		return err
	}
	used := last.token
	if last.boot != g.boot || g.boot == "" {
		used = max(copies[0], copies[1], last.reserved, last.token)
	}
	awaitClock(used, g.clock())
	if used > g.clock() {
		return fault(locks.ErrUnavailable,
			"set this machine's clock",
			"the clock is behind the lock's tokens, and those of a new file would start from it")
	}
	return nil
}

var _ locks.Forgetter = (*Locker)(nil)
