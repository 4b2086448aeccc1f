package file

import (
	"context"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A campaign is one call of Acquire. The work is done by a goroutine that
// Acquire abandons when its context ends: a blocked flock, or a hanging disk,
// cannot be interrupted. What the goroutine has won by then it gives back; it
// has no other owner, and ends with the call that blocks it.
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
	for {
		select {
		case s := <-c.held:
			if l.o.Waiting != nil {
				l.o.Waiting(locks.Waiting{Status: s})
			}
		case r := <-c.result:
			return r.term, r.err
		case <-ctx.Done():
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
			_ = t.release() // nobody is left to be told; closing has freed the lock in any case
		}
	}
}

// win makes attempts until one settles the matter.
func (c *campaign) win() (*term, error) {
	for {
		t, err := c.attempt()
		if t != nil || err != nil {
			return t, err
		}
		if c.isAbandoned() {
			return nil, context.Canceled // nobody will see it
		}
	}
}

// attempt locks the file that is at path now. Without term and error, path
// leads elsewhere by the time it is locked: whoever comes next would lock
// another file, so this one is worth nothing.
func (c *campaign) attempt() (*term, error) {
	dir, err := openDir(c.l.place)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // it was only read
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
	t, err := c.lock(dir, f)
	if t == nil {
		_ = f.Close() // the reason is in err, if there is one
	}
	return t, err
}

func (c *campaign) lock(dir, f *os.File) (*term, error) {
	if err := c.flock(f); err != nil {
		return nil, err
	}
	if c.isAbandoned() {
		return nil, context.Canceled // nobody will see it
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

// Somebody who has a lock without being entered in the ledger is about to enter
// himself, or is an abandoned waiter about to give the lock back. Either takes
// microseconds, or milliseconds if the disk must be waited for; so he is looked
// at again before he is called the holder. So is the lock if those who have it
// share it: they only inspect it.
const (
	glances       = 20
	glanceSpacing = 2 * time.Millisecond
)

// flock locks f. If somebody else has it, c.try decides.
func (c *campaign) flock(f *os.File) error {
	for n := 1; ; n++ {
		ok, err := tryLock(f)
		if ok || err != nil {
			return err
		}
		status, entered := ledger{store: f, boot: c.l.bootOf(f)}.status()
		if n < glances && (!entered || isInspected(f)) {
			time.Sleep(glanceSpacing)
			continue
		}
		if c.try {
			return &locks.HeldError{Status: status}
		}
		return c.wait(f, status)
	}
}

// isInspected reports that nobody holds the lock in f, to which others have just
// been a hindrance, nor ourselves.
func isInspected(f *os.File) bool {
	free, err := isUnlocked(f)
	return free && err == nil
}

func (c *campaign) wait(f *os.File, status locks.Status) error {
	select {
	case c.held <- status:
		return waitLock(f)
	case <-c.abandoned:
		return context.Canceled // nobody will see it
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

// enter writes us into the locked file as the holder.
func (l *Locker) enter(dir, f *os.File, info os.FileInfo) (*term, error) {
	g := ledger{store: f, boot: l.bootOf(f), now: l.now}
	e, past, err := g.next(newHolder(l.o, l.now()))
	if err != nil {
		return nil, err
	}
	if past == unreadable {
		l.log.Warn("the lock file was unreadable; its token goes on from the clock", "path", l.path, "token", e.token)
	}
	if past == unheard || past == unreadable {
		if err := syncDir(dir); err != nil {
			return nil, err
		}
	}
	return &term{
		file: f, info: info, path: l.path,
		ledger: g, entry: e,
		clean: past.clean(),
		busy:  make(turn, 1),
	}, nil
}
