package file

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/label"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A campaign is one call of Acquire. A goroutine does the work, and Acquire abandons it
// when its context ends, because a hanging disk cannot be interrupted. If the abandoned goroutine
// gets the lock, it gives it back. It ends when the blocking call does; a blocked flock, which may
// last for months, is left to a [waiter].
type campaign struct {
	l         *Locker
	try       bool
	held      chan locks.Status // found held, about to wait
	result    chan result
	abandoned chan struct{} // closed by Acquire
}

type result struct {
	term *term
	err  error
}

func (l *Locker) campaign(ctx context.Context, try bool) (*term, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	err := l.usable()
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c := &campaign{
		l:         l,
		try:       try,
		held:      make(chan locks.Status),
		result:    make(chan result),
		abandoned: make(chan struct{}),
	}
	defer close(c.abandoned)
	go c.run()
	var waiting error // why we wait
	for {
		select {
		case s := <-c.held:
			waiting = &locks.HeldError{Status: s}
			if l.o.Waiting != nil {
				l.o.Waiting(locks.Waiting{Status: s})
			}
		case r := <-c.result:
			return r.term, r.err
		case <-ctx.Done():
			if waiting != nil {
				return nil, fmt.Errorf("%w (%w)", ctx.Err(), waiting)
			}
			return nil, ctx.Err()
		case <-l.closed:
			return nil, os.ErrClosed
		}
	}
}

func (c *campaign) run() {
	t, err := c.win()
	select {
	case c.result <- result{t, err}:
	case <-c.abandoned:
		if err == nil {
			_ = t.release() // the caller is gone; closing has freed the lock in any case
		}
	}
}

// win makes attempts until one is decisive.
func (c *campaign) win() (*term, error) {
	for {
		t, err := c.attempt()
		if t != nil || err != nil {
			return t, err
		}
		if c.isAbandoned() {
			return nil, context.Canceled // never seen
		}
	}
}

// attempt locks the file that is at path now. It returns neither a term nor an error if
// path leads to another file by the time this one is locked: the next contender would
// lock the other file, so this lock is worthless.
func (c *campaign) attempt() (*term, error) {
	dir, err := openDir(c.l.place)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // only read
	if err := c.l.checkLocal(dir); err != nil {
		return nil, err
	}
	f, err := c.l.openLock(dir)
	if isAbsent(err) {
		return nil, nil // the directory was deleted meanwhile
	}
	if err != nil {
		return nil, err
	}
	if f, err = c.flock(f); err != nil {
		return nil, err
	}
	t, err := c.enter(dir, f)
	if t == nil {
		_ = f.Close() // err has the reason, if any
	}
	return t, err
}

// enter begins a term in a locked file.
func (c *campaign) enter(dir, f *os.File) (*term, error) {
	if c.isAbandoned() {
		return nil, context.Canceled // never seen
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if current, err := isCurrent(c.l.path, info); !current {
		return nil, err
	}
	return c.l.enter(dir, f, info)
}

// A contender that has the lock but is not in the ledger is either about to enter itself,
// or an abandoned waiter that is about to give the lock back. Either takes microseconds,
// or milliseconds if it waits for the disk. So we look again before we call it the
// holder. We also look again if the lock is shared: those who share it only inspect it.
const (
	glances       = 20
	glanceSpacing = 2 * time.Millisecond
)

// flock locks f, and returns it, or the same file as a waiter has opened it. If another process
// has the lock, c.try decides. After an error, f is not ours.
func (c *campaign) flock(f *os.File) (*os.File, error) {
	status, err := c.glance(f)
	switch {
	case err != nil:
		_ = f.Close() // it is not locked
		return nil, err
	case status != nil:
		return c.wait(f, *status)
	}
	return f, nil
}

// glance locks f, or returns who has the lock, for which to wait.
func (c *campaign) glance(f *os.File) (*locks.Status, error) {
	for n := 1; ; n++ {
		ok, err := tryLock(f)
		if ok || err != nil {
			return nil, err
		}
		status, entered := ledger{store: f, boot: c.l.bootOf(f)}.status()
		if n < glances && (!entered || isInspected(f)) {
			time.Sleep(glanceSpacing)
			continue
		}
		if c.try {
			return nil, &locks.HeldError{Status: status}
		}
		return &status, nil
	}
}

// isInspected reports whether nobody holds the lock in f, so that only inspections kept
// us from getting it. We must not hold it either.
func isInspected(f *os.File) bool {
	free, err := isUnlocked(f)
	return free && err == nil
}

func (c *campaign) wait(f *os.File, status locks.Status) (*os.File, error) {
	select {
	case c.held <- status:
	case <-c.abandoned:
		_ = f.Close()                // it is not locked
		return nil, context.Canceled // never seen
	}
	w := await(c.l.path, f)
	select {
	case err := <-w.locked:
		if err != nil {
			_ = w.file.Close() // it is not locked
			return nil, err
		}
		return w.file, nil
	case <-c.abandoned:
		w.park(c.l.path)
		return nil, context.Canceled // never seen
	}
}

func (c *campaign) isAbandoned() bool {
	select {
	case <-c.abandoned:
		return true
	default:
		return false
	}
}

// label returns what the lock file says about us if our term begins now.
func (l *Locker) label() label.Label {
	h := label.Of(l.o)
	h.Since = l.now()
	return h
}

// enter writes us into the locked file as the holder.
func (l *Locker) enter(dir, f *os.File, info os.FileInfo) (*term, error) {
	g := ledger{store: f, boot: l.bootOf(f), now: l.now}
	if err := g.checkOurs(l.path); err != nil {
		return nil, err
	}
	e, past, err := g.next(l.label())
	if err != nil {
		return nil, err
	}
	if past == unreadable {
		l.log.Warn("the lock file was unreadable; its tokens continue from the clock", "path", l.path, "token", e.token)
	}
	if past == noHolder || past == unreadable {
		if err := syncDir(dir); err != nil {
			return nil, err
		}
	}
	return &term{
		file: f, info: info, path: l.path,
		ledger: g, entry: e,
		clean: past.clean(),
		busy:  workers.NewTurn(),
	}, nil
}
