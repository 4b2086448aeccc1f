package file

import (
	"context"
	"io/fs"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// Abilities implements [locks.Able]. Who waits is known to the kernel alone. There
// is no Breaker: a lock ends with the processes that have its file open, and if
// that were deleted under a holder, two could hold the lock.
func (l *Locker) Abilities(context.Context) ([]locks.Ability, error) {
	has := []locks.Ability{locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanProbe}
	if watches {
		has = append(has, locks.CanWatch)
	}
	if forgets {
		has = append(has, locks.CanForget)
	}
	return has, nil
}

// Inspect implements [locks.Inspector].
func (l *Locker) Inspect(ctx context.Context) (locks.State, error) {
	return away(ctx, l, "inspect", l.look)
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
	defer func() { _ = f.Close() }() // it was only read
	for n := 1; ; n++ {
		free, err := isUnlocked(f)
		if free || err != nil {
			return locks.State{}, err
		}
		// As in campaign.flock, who is not entered yet is about to be.
		status, entered := ledger{store: f, boot: l.bootOf(f)}.status()
		if entered || n == glances {
			return locks.State{Status: status}, nil
		}
		time.Sleep(glanceSpacing)
	}
}

// isUnlocked reports whether nobody holds the lock in f, of which we must hold
// none. It takes a shared lock for a moment. A contender that does not wait may
// meet that, and knows it by the same test: where one shared lock can be had, a
// second can, too, and not where there is a holder.
//
// The alternatives are worse. F_OFD_GETLK knows nothing of flock(2), and
// /proc/locks leaves out the processes of other pid namespaces, so it would
// call free what another container holds.
func isUnlocked(f *os.File) (bool, error) {
	ok, err := tryShared(f)
	if !ok {
		return false, err
	}
	return true, unlock(f)
}

// openBeside opens the file of this lock with a suffix. What is absent is not
// made, and what is not to be trusted is not opened.
func (l *Locker) openBeside(suffix string, flags int) (*os.File, error) {
	dir, err := l.findLocalDir()
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // it was only read
	return l.openLocal(dir, l.beside(suffix), flags)
}

// findLocalDir opens the directory of the locks if it is there, and one that flock
// works in.
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

// away runs f and returns when it has, or when ctx ends: a disk that hangs
// cannot be interrupted.
func away[T any](ctx context.Context, l *Locker, op string, f func() (T, error)) (T, error) {
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
