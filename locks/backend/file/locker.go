package file

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Locker is a lock kept in a file.
type Locker struct {
	o     locks.Options
	log   *slog.Logger
	place place
	path  string // of the lock file

	fileSystem func(*os.File) (fileSystem, error) // returns the file system of a file
	boot       func() string                      // identifies this boot of the system; "" if unknown
	now        func() time.Time

	*handle.Inbox
	lost   chan error
	closed chan struct{}

	mu     sync.Mutex
	served bool     // the handle's one term has begun
	term   *term    // nil before and after the term
	stems  []string // the names of the current listing, or nil
}

// Open makes a Locker. It is a [locks.Opener] for the scheme "file". It does not touch
// the file system yet.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	p, err := whichPlace(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	return newLocker(p, o), nil
}

func newLocker(p place, o locks.Options) *Locker {
	l := &Locker{
		o:          o,
		log:        o.Logger,
		place:      p,
		path:       filepath.Join(p.dir, fileName(o.Name)),
		fileSystem: fileSystemOf,
		boot:       clock.BootID,
		now:        time.Now,
		closed:     make(chan struct{}),
		Inbox:      handle.NewInbox(),
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if watches {
		l.lost = make(chan error, 1)
	}
	return l
}

// Acquire takes the lock; see [locks.Lock]. It always returns as soon as ctx ends, even
// if the disk hangs.
func (l *Locker) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	t, err := l.campaign(ctx, try)
	if err == nil {
		l.log.Info("locked a file", "path", l.path)
		err = l.begin(t)
	}
	if err != nil {
		return locks.Grant{}, l.fail("acquire", err)
	}
	return locks.Grant{Token: t.entry.token, Clean: t.clean}, nil
}

// begin starts the handle's term, unless the handle was closed meanwhile.
func (l *Locker) begin(t *term) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		_ = t.release() // the caller gets the other error; closing has freed the lock in any case
		return err
	}
	l.served, l.term = true, t
	t.watch(l.log, func() {
		l.lost <- l.fail("hold", fmt.Errorf("%s was deleted or replaced: %w", l.path, locks.ErrLost))
	}, l.listen(t.entry.token))
	return nil
}

// usable returns why Acquire can no longer be called or succeed, or nil.
func (l *Locker) usable() error {
	select {
	case <-l.closed:
		return os.ErrClosed
	default:
	}
	if l.served {
		return errors.New("the handle has already served its term")
	}
	return nil
}

// Renew returns locks.ErrNoLease: the lock lasts as long as we do.
func (l *Locker) Renew(context.Context) error { return locks.ErrNoLease }

// Release frees the lock at once, for every process that has [Locker.File]. It waits only
// for a SetRecord under way, which must not write once the lock is another holder's.
func (l *Locker) Release(ctx context.Context) error {
	t := l.current()
	if t == nil {
		return nil
	}
	if err := t.busy.Take(ctx); err != nil {
		return l.fail("release", err)
	}
	defer t.busy.Leave()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.term != t {
		return nil
	}
	err := t.release()
	l.term = nil
	if err != nil {
		return l.fail("release", err)
	}
	return nil
}

// Lost reports, on Linux, that the lock file is gone. On other systems it returns nil.
func (l *Locker) Lost() <-chan error { return l.lost }

// File returns the open file that carries the lock, or nil if the lock is not held. A
// process that is given the file, such as the guard, keeps the lock held until it has
// closed the file or died, or until Release. It must not unlock the file. Release and Close
// close the file.
func (l *Locker) File() *os.File {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.term == nil {
		return nil
	}
	return l.term.file
}

// Close closes the lock file and ends a pending Acquire. Like our death, this frees the
// lock unless another process has [Locker.File].
func (l *Locker) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.term != nil {
		l.term.abandon()
		l.term = nil
	}
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

var (
	_ locks.Lock    = (*Locker)(nil)
	_ locks.Opener  = Open
	_ locks.Carried = (*Locker)(nil)
)

// Permanent implements [locks.Permanent].
func (l *Locker) Permanent() bool { return true }

var _ locks.Permanent = (*Locker)(nil)
