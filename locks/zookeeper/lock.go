package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/clock"
	"github.com/leaderrun/leaderrun/locks/zookeeper/zkinfo"
)

// undoTimeout bounds the attempt to undo an Acquire that failed. What it does
// not reach ends with the session.
const undoTimeout = time.Second

// A Lock is a handle on one lock in one ensemble. It implements [locks.Lock].
type Lock struct {
	settings *settings
	o        locks.Options
	addr     string // "zk://host:port,…", for messages
	lock     string // the path of the lock's node
	log      *slog.Logger
	lost     chan error
	asked    chan []byte
	closing  chan struct{} // closed by Close

	workers sync.WaitGroup

	mu      sync.Mutex
	current *entry // the latest; nil before the first campaign
	final   error  // why the handle is of no more use; nil: it is
}

// Open makes a Lock. It implements [locks.Opener], and contacts nothing.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	l := &Lock{
		settings: s,
		o:        o,
		addr:     "zk://" + strings.Join(s.servers, ","),
		log:      o.Logger,
		lost:     make(chan error, 1),
		asked:    make(chan []byte, 1),
		closing:  make(chan struct{}),
	}
	l.lock = l.path(o.Name)
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	l.log = l.log.With("backend", l.addr, "lock", o.Name)
	s.users.log = l.log
	if s.tls != nil {
		s.tls.Log = l.log
	}
	return l, nil
}

// path is that of a lock's node.
func (l *Lock) path(name string) string { return l.settings.chroot + "/" + locks.EscapeName(name) }

// Acquire implements [locks.Lock].
func (l *Lock) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	e, err := l.begin(ctx)
	if err != nil {
		return locks.Grant{}, l.fail(ctx, "acquire", err)
	}
	token, err := e.campaign(ctx, try)
	ttl, over := e.term()
	if over != nil {
		err = over // lost, released or closed meanwhile
	}
	if err == nil {
		e.lead()
		return locks.Grant{Token: token, TTL: ttl}, nil
	}
	e.end(err, false)
	e.undo(ctx)
	if held, ok := errors.AsType[*locks.HeldError](err); ok && ctx.Err() == nil {
		return locks.Grant{}, held
	}
	return locks.Grant{}, l.fail(ctx, "acquire", err)
}

// begin makes an entry for a campaign. What an earlier one could not undo is
// undone first, as it may stand before us in the queue.
func (l *Lock) begin(ctx context.Context) (*entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	e, final := l.current, l.final
	l.mu.Unlock()
	if e != nil && final == nil {
		e.undo(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.final != nil {
		return nil, l.final
	}
	e, err := l.newEntry()
	if err == nil {
		l.current = e
	}
	return e, err
}

// campaign returns the token once our node leads.
func (e *entry) campaign(ctx context.Context, try bool) (token uint64, err error) {
	v, err := e.enter(ctx, try)
	switch {
	case err != nil:
		return 0, err
	case v.leads:
		e.entered(v.own)
		e.guard(v.own, lazily)
		return v.own.token(), nil
	case try:
		return 0, &locks.HeldError{Status: v.status()}
	}
	if v, err = e.wait(ctx, v); err != nil {
		return 0, err
	}
	if !e.settings.unfair {
		e.restampLazily(v.own.path)
	}
	return v.own.token(), nil
}

// Renew implements [locks.Lock].
func (l *Lock) Renew(ctx context.Context) error {
	l.mu.Lock()
	e, final := l.current, l.final
	l.mu.Unlock()
	if final != nil {
		return l.fail(ctx, "renew", final)
	}
	if e == nil {
		return locks.ErrNoLease
	}
	if err := e.renew(ctx); err != nil {
		if errors.Is(err, locks.ErrNoLease) {
			return err
		}
		return l.fail(ctx, "renew", err)
	}
	return nil
}

// renew makes one attempt. If the one before failed, it goes elsewhere.
func (e *entry) renew(ctx context.Context) error {
	e.mu.Lock()
	proof, token, another := e.proof, e.token, e.failed
	e.mu.Unlock()
	if proof == "" {
		return locks.ErrNoLease
	}
	ctx, cancel := e.untilOver(ctx)
	defer cancel()
	sent := clock.Boot{}.Now()
	err := e.s.renew(ctx, proof, another)
	if err == nil && token != 0 && e.settings.unfair { // else the name alone is only ours
		err = e.verify(ctx, proof, token)
	}
	switch {
	case errors.Is(err, zk.ErrNoNode):
		e.lose(errDeleted)
	case errors.Is(err, locks.ErrLost):
		e.lose(err)
	}
	return e.renewed(sent, err)
}

// verify checks that the node which leads is the very one that we made.
func (e *entry) verify(ctx context.Context, path string, token uint64) error {
	n, err := e.s.get(ctx, path)
	if err == nil && n.token() != token {
		return errReplaced
	}
	return err
}

// renewed takes the outcome of an attempt that began at the given moment.
func (e *entry) renewed(sent clock.Instant, err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	granted := e.s.session().timeout
	if err == nil && granted < e.ttl {
		err = fmt.Errorf("a server grants %v to a session that had %v: the servers of an ensemble need the same limits", granted, e.ttl)
	}
	e.failed = err != nil
	switch {
	case e.over != nil: // now, or while we asked
		return e.over
	case err == nil:
		e.expires = max(e.expires, sent.Add(e.ttl))
	}
	return err
}

// Release implements [locks.Lock]: closing the session deletes our node, and
// nothing else, in one step.
func (l *Lock) Release(ctx context.Context) error {
	l.mu.Lock()
	e := l.current
	l.mu.Unlock()
	if e == nil {
		return nil
	}
	e.clear(ctx)
	e.end(errReleased, true)
	if err := e.leave(ctx); err != nil {
		return l.fail(ctx, "release", err)
	}
	return nil
}

// clear tidies up on servers without containers, while our session is there.
func (e *entry) clear(ctx context.Context) {
	e.mu.Lock()
	own, over := e.proof, e.over
	e.mu.Unlock()
	if !e.plain.Load() || over != nil || own == "" || e.settings.unfair {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, undoTimeout)
	defer cancel()
	if err := e.tidy(ctx, own); err != nil {
		e.log.Debug("cannot tidy up", "err", err)
	}
}

// Lost implements [locks.Lock].
func (l *Lock) Lost() <-chan error { return l.lost }

// Close implements [locks.Lock].
func (l *Lock) Close() error {
	l.mu.Lock()
	e := l.current
	if l.final == nil {
		l.final = errClosed
	}
	if !l.isClosed() {
		close(l.closing)
	}
	l.mu.Unlock()
	if e != nil {
		e.end(errClosed, true)
	}
	l.workers.Wait()
	return nil
}

// isClosed is called with Lock.mu held.
func (l *Lock) isClosed() bool {
	select {
	case <-l.closing:
		return true
	default:
		return false
	}
}

// SecretEnv implements [locks.SecretReader]. The name of the file with the key
// of the client certificate counts as a secret: with it goes the only way the
// job had to be told of it.
func (l *Lock) SecretEnv() []string { return zkinfo.Info.Secrets() }

var (
	_ locks.Opener       = Open
	_ locks.Lock         = (*Lock)(nil)
	_ locks.SecretReader = (*Lock)(nil)
)
