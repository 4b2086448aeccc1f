package lockstest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A memLock is the client of the reference backend.
type memLock struct {
	m    *memory
	path *path
	o    locks.Options
	key  string
	lost chan error

	inbox chan []byte
	seen  *locks.State // a defect

	mu       sync.Mutex
	place    *place
	closed   bool
	released bool // or about to be
	life     context.Context
	end      context.CancelFunc // called by Close
	wg       sync.WaitGroup
}

var nonces atomic.Int64

func (l *memLock) pid() int {
	if l.m.is("pid-is-our-own") {
		return os.Getpid()
	}
	return cmp.Or(l.o.PID, os.Getpid())
}

func (m *memory) open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	o.TTL = max(o.TTL, 100*time.Millisecond)
	life, end := context.WithCancel(context.Background())
	l := &memLock{m: m, path: m.path(u), o: o, key: u.Path + "\x00" + m.storedName(o.Name), life: life, end: end}
	l.lost, l.inbox = make(chan error, 1), make(chan []byte, 1)
	l.path.conns.Add(1)
	switch {
	case m.is("leaks-file"):
		r, w, _ := os.Pipe()
		m.leaked = append(m.leaked, r, w)
	case m.is("leaks-child"):
		_ = exec.Command("true").Start()
	}
	return l, nil
}

// storedName is the identity, but for defects.
func (m *memory) storedName(name string) string {
	switch {
	case m.is("names-fold-case"):
		return strings.ToLower(name)
	case m.is("names-flatten"):
		return strings.ReplaceAll(name, "/", ".")
	case m.is("names-collide-by-prefix"):
		return name[:1]
	case m.is("names-cut") && len(name) > 100:
		return name[:100]
	}
	return name
}

func (l *memLock) fail(op string, class, err error) error {
	return &locks.Error{Op: op, Backend: "memory", Name: l.o.Name, Class: class, Err: err}
}

var errClosed = errors.New("the handle is closed")

func (l *memLock) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	rec, _ := json.Marshal(record{Holder: l.o.Holder, RunID: l.o.RunID, NoResign: l.o.NoResign, PID: l.pid()})
	p := &place{key: l.key, nonce: fmt.Sprint(nonces.Add(1)), record: rec, ttl: l.o.TTL, inbox: l.inbox, priority: l.o.Priority}
	if err := l.set(nil); err != nil {
		return locks.Grant{}, l.fail("acquire", nil, err)
	}
	held, err := l.enter(ctx, p, try || l.m.polls)
	if err == nil && held {
		err = l.held()
		if l.o.Waiting != nil && !try {
			l.o.Waiting(locks.Waiting{Status: l.m.status(l.key)})
		}
	}
	if err == nil {
		err = l.set(p)
	}
	if err == nil {
		err = l.wait(ctx, p)
	}
	if err != nil {
		if try && l.m.is("try-leaves-place") {
			return locks.Grant{}, l.fail("acquire", nil, err)
		}
		l.undo(p)
		return locks.Grant{}, l.fail("acquire", nil, err)
	}
	l.background(func() { l.watch(p) })
	if l.m.is("extends-by-itself") {
		l.background(func() { l.extend(p) })
	}
	g := l.m.grantOf(p)
	if l.m.leases {
		g.TTL = p.ttl
		if l.m.is("grants-less") {
			g.TTL /= 2
		}
	}
	return g, nil
}

// background runs f, which ends soon after stop is closed.
func (l *memLock) background(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.wg.Go(f)
	}
}

func (l *memLock) held() error {
	if l.m.is("held-without-status") {
		return locks.ErrHeld
	}
	st := l.m.status(l.key)
	if l.m.is("takes-itself-for-the-holder") {
		st.RunID = l.o.RunID
	}
	if l.m.is("raw-holder-in-error") {
		return fmt.Errorf("%w: %w by %s", &locks.HeldError{Status: st}, locks.ErrHeld, st.Holder)
	}
	return &locks.HeldError{Status: st}
}

// extend is a defect.
func (l *memLock) extend(p *place) {
	for {
		select {
		case <-l.life.Done():
			return
		case <-p.gone:
			return
		case <-time.After(p.ttl / 3):
			l.m.renew(p)
		}
	}
}

func (l *memLock) set(p *place) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	l.place = p
	return nil
}

// enter is the first request, to be answered within the connect timeout.
func (l *memLock) enter(ctx context.Context, p *place, try bool) (held bool, err error) {
	limit := l.o.ConnectTimeout
	if l.m.is("no-connect-timeout") {
		limit = time.Hour
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var answer error
	if err := l.path.Do(timed, func() { answer = l.m.enter(p, try) }); err != nil {
		if ctx.Err() == nil {
			err = errors.Join(locks.ErrUnavailable, err)
		}
		if l.m.is("outage-is-held") {
			err = &locks.HeldError{}
		}
		return false, err
	}
	return answer != nil, nil
}

// undo leaves the queue, if the server can be reached.
func (l *memLock) undo(p *place) {
	_ = l.set(nil)
	switch {
	case l.m.is("cancel-keeps-place"):
		return
	case l.m.is("cancel-leaks-goroutine"):
		go func() { <-p.gone; select {} }()
	}
	limit := 500 * time.Millisecond
	if l.m.is("undo-takes-its-time") {
		limit = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_ = l.path.Do(ctx, func() { l.m.leave(p.key, p.nonce) })
}

// wait returns once the place holds the lock.
func (l *memLock) wait(ctx context.Context, p *place) error {
	for {
		token, pos, err := l.look(ctx, p)
		switch {
		case err != nil:
			return err
		case token || l.m.is("waits-for-nothing"):
			return nil
		case pos < 0:
			return fmt.Errorf("%w: the place in the queue is gone", locks.ErrLost)
		}
		if (l.o.Waiting != nil || l.m.is("waiting-must-be-set")) && !l.m.is("waiting-is-silent") {
			w := locks.Waiting{Status: l.m.status(p.key), Position: pos}
			if l.m.leases && !l.m.is("waiting-hides-lease") {
				w.Lease = p.ttl
			}
			l.o.Waiting(w)
		}
		done := ctx.Done()
		if l.m.is("acquire-ignores-context") {
			done = nil
		}
		select {
		case <-done:
			return ctx.Err()
		case <-l.life.Done():
			return errClosed
		case <-p.changed:
		}
		if l.m.is("wake-lost-in-cut") && l.path.isCut() {
			<-done
		}
	}
}

// look asks for the state of a place, through outages.
func (l *memLock) look(ctx context.Context, p *place) (token bool, pos int, err error) {
	for {
		err = l.path.Do(ctx, func() {
			pos, token = l.m.position(p)
			token = token && (pos == 0 || l.m.is("grants-two"))
		})
		if !errors.Is(err, locks.ErrUnavailable) || l.m.is("outage-ends-waiting") {
			return token, pos, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// watch tells when a held place is gone.
func (l *memLock) watch(p *place) {
	select {
	case <-l.life.Done():
	case <-p.gone:
		l.mu.Lock()
		mine := l.place == p && (!l.released || l.m.is("lost-after-release"))
		l.mu.Unlock()
		if l.m.is("lost-never-fires") {
			return
		}
		if mine && l.path.Do(l.life, func() {}) == nil {
			l.lost <- l.fail("watch", locks.ErrLost, errors.New("deleted"))
		}
	}
}

func (l *memLock) Renew(ctx context.Context) error {
	l.mu.Lock()
	p, closed := l.place, l.closed
	l.mu.Unlock()
	if closed {
		return l.fail("renew", nil, errClosed)
	}
	if p == nil && l.m.is("renew-of-nothing-succeeds") {
		return nil
	}
	if p == nil || !l.m.leases || l.m.is("renew-only-when-held") && !l.m.holds(p) {
		return locks.ErrNoLease
	}
	if l.m.is("renew-in-queue-is-loss") && !l.m.holds(p) {
		return l.fail("renew", locks.ErrLost, errors.New("not held"))
	}
	if l.m.is("renew-ignores-context") {
		ctx = context.WithoutCancel(ctx)
	}
	ok := false
	if err := l.path.Do(ctx, func() { ok = l.m.renew(p) }); err != nil {
		if l.m.is("outage-is-loss") {
			return l.fail("renew", locks.ErrLost, err)
		}
		return l.fail("renew", locks.ErrUnavailable, err)
	}
	if !ok {
		return l.fail("renew", locks.ErrLost, errors.New("the lease has ended"))
	}
	return nil
}

func (l *memLock) Release(ctx context.Context) error {
	l.mu.Lock()
	p := l.place
	l.released = true
	l.mu.Unlock()
	if p == nil && l.m.is("release-of-nothing-fails") {
		return l.fail("release", nil, errors.New("not held"))
	}
	if p == nil || l.m.is("release-does-nothing") {
		return nil
	}
	if err := l.path.Do(ctx, func() { l.m.leave(p.key, p.nonce) }); err != nil {
		return l.fail("release", locks.ErrUnavailable, err)
	}
	return nil
}

func (l *memLock) Lost() <-chan error {
	if l.m.is("lost-is-another-channel") {
		return make(chan error)
	}
	return l.lost
}

func (l *memLock) Close() error {
	l.mu.Lock()
	defer func() { l.mu.Unlock(); l.wg.Wait() }()
	if l.closed && l.m.is("second-close-panics") {
		panic("closed twice")
	}
	if !l.closed {
		l.closed = true
		l.end()
		if !l.m.is("leaks-connection") {
			l.path.conns.Add(-1)
		}
		if l.m.is("close-releases") && l.place != nil {
			l.m.leave(l.place.key, l.place.nonce)
		}
	}
	return nil
}
