package file

import (
	"context"
	"io/fs"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// Abilities implements [locks.Able]. It looks at the directory: see shared.go. Only the
// kernel knows the waiters. There is no Breaker: a lock ends with the processes that have its
// file open, and if the file were deleted under a holder, two could hold the lock.
func (l *Locker) Abilities(ctx context.Context) ([]locks.Ability, error) {
	has := []locks.Ability{locks.CanInspect, locks.CanList, locks.CanProbe}
	shared, err := interruptible(ctx, l, "look at the directory of", func() (bool, error) { return inShared(l.place), nil })
	if err != nil {
		return nil, err
	}
	if !shared {
		has = append(has, locks.CanRecord, locks.CanAsk)
	}
	if watches {
		has = append(has, locks.CanWatch)
	}
	return append(has, locks.CanForget), nil
}

// Inspect implements [locks.Inspector]. It names the file, for those who lock it with flock(1):
// its name is not always that of the lock.
func (l *Locker) Inspect(ctx context.Context) (locks.State, error) {
	st, err := interruptible(ctx, l, "inspect", l.look)
	if err == nil {
		st.Details = []string{"lock file " + l.path}
	}
	return st, err
}

// look makes nothing, not even the directory.
func (l *Locker) look() (locks.State, error) {
	f, err := l.openBeside(suffix, os.O_RDONLY)
	if isAbsent(err) {
		return locks.State{}, nil
	}
	if err != nil {
		return locks.State{}, err
	}
	defer func() { _ = f.Close() }() // only read
	for n := 1; ; n++ {
		free, err := isUnlocked(f)
		if free {
			err = ledger{store: f}.checkOurs(l.path)
		}
		if free || err != nil {
			return locks.State{}, err
		}
		// As in campaign.flock, a holder that is not in the ledger is about to enter
		// itself.
		status, entered := ledger{store: f, boot: l.bootOf(f)}.status()
		if entered || n == glances {
			return locks.State{Status: status}, nil
		}
		time.Sleep(glanceSpacing)
	}
}

// isUnlocked reports whether nobody, including us, holds the lock in f. It takes a shared
// lock for a moment. A contender that does not wait may meet this lock, and recognizes it
// by the same test: a second shared lock succeeds, but fails if there is a holder.
//
// The alternatives are worse. F_OFD_GETLK does not see flock(2). /proc/locks omits
// processes of other pid namespaces, so a lock held by another container would look free.
func isUnlocked(f *os.File) (bool, error) {
	ok, err := tryShared(f)
	if !ok {
		return false, err
	}
	return true, unlock(f)
}

// openBeside opens the file of this lock with the given suffix. It does not make an
// absent file, and does not open an untrusted one.
func (l *Locker) openBeside(suffix string, flags int) (*os.File, error) {
	dir, err := l.findLocalDir()
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // only read
	return l.openLocal(dir, l.beside(suffix), flags)
}

// findLocalDir opens the directory of the locks if it exists and flock works there.
func (l *Locker) findLocalDir() (*os.File, error) {
	dir, err := findDir(l.place)
	if err != nil {
		return nil, err
	}
	if err := l.checkLocal(dir); err != nil {
		_ = dir.Close() // nothing was written
		return nil, err
	}
	return dir, nil
}

// interruptible runs f and returns when f has, or when ctx ends, because a hanging disk
// cannot be interrupted.
func interruptible[T any](ctx context.Context, l *Locker, op string, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, l.fail(op, err)
	}
	select {
	case <-l.closed:
		return none, l.fail(op, fs.ErrClosed)
	default:
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := f()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return none, l.fail(op, o.err)
		}
		return o.value, nil
	case <-ctx.Done():
		return none, l.fail(op, ctx.Err())
	}
}

var (
	_ locks.Able      = (*Locker)(nil)
	_ locks.Inspector = (*Locker)(nil)
)

// Location implements [locks.Located].
func (l *Locker) Location(context.Context) string { return l.place.String() }
