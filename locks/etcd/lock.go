package etcd

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/etcd/etcdinfo"
)

// undoTimeout bounds the attempt to undo an Acquire that failed. What it does
// not reach ends with the lease.
const undoTimeout = time.Second

// looks is how often what a watch has not told is looked for: a watch on a member that
// hangs tells nothing, and does not end.
const looks = 10 * time.Second

// A Lock is a handle on one lock in one cluster. It implements [locks.Lock].
type Lock struct {
	c        *client
	o        locks.Options
	settings *settings
	addr     string // "etcd://host:port,…", for messages
	log      *slog.Logger
	prefix   string // what all keys begin with: "/a/b/"
	queue    string // what the keys of all entries begin with
	lost     chan error
	asked    chan []byte
	looks    time.Duration

	closed  chan struct{}
	workers sync.WaitGroup

	mu      sync.Mutex
	current *entry // the latest; nil before the first campaign
	final   error  // why the handle is of no more use; nil: it is
}

// Open makes a Lock. It implements [locks.Opener]: it begins to connect, and
// does not wait for the server.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	l := &Lock{
		o:        o,
		settings: s,
		addr:     address(s.endpoints),
		log:      o.Logger,
		prefix:   s.prefix + "/",
		lost:     make(chan error, 1),
		asked:    make(chan []byte, 1),
		looks:    looks,
		closed:   make(chan struct{}),
	}
	l.queue = l.keyOf(o.Name, inQueue)
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	l.log = l.log.With("backend", l.addr, "lock", o.Name)
	if s.tls != nil {
		s.tls.Log = l.log
	}
	s.password.log = l.log
	if l.c, err = newClient(s, o.ConnectTimeout); err != nil {
		return nil, &locks.Error{Op: "open", Backend: l.addr, Name: o.Name, Class: locks.ErrUsage, Err: err}
	}
	return l, nil
}

func address(endpoints []string) string {
	var hosts []string
	for _, e := range endpoints {
		hosts = append(hosts, hostOf(e))
	}
	return "etcd://" + strings.Join(hosts, ",")
}

func hostOf(endpoint string) string {
	_, host, _ := strings.Cut(endpoint, "://")
	return host
}

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
		e.lead(int64(token))
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
	if e, final := l.state(); e != nil && final == nil {
		e.undo(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.final != nil {
		return nil, l.final
	}
	l.current = l.newEntry()
	return l.current, nil
}

// state returns the latest entry, and why the handle is of no more use.
func (l *Lock) state() (*entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current, l.final
}

// campaign returns the token once our entry leads.
func (e *entry) campaign(ctx context.Context, try bool) (token uint64, err error) {
	v, err := e.enter(ctx, try)
	if err == nil && v.own != nil {
		e.joined(v.own.CreateRevision)
	}
	switch {
	case err != nil:
		return 0, err
	case v.leads():
		e.guard(v.own.CreateRevision, lazily)
	case try:
		return 0, &locks.HeldError{Status: v.status()}
	case v.own == nil: // it was made, and is gone already
		e.lose(errDeleted)
		return 0, errDeleted
	default:
		if err := e.wait(ctx, v); err != nil {
			return 0, err
		}
	}
	return uint64(v.own.CreateRevision), nil
}

// Renew implements [locks.Lock]. It waits for a connection, if there is none, for as long
// as ctx allows. Of several members more than one may be asked.
func (l *Lock) Renew(ctx context.Context) error {
	e, final := l.state()
	if final != nil {
		return l.fail(ctx, "renew", final)
	}
	if e == nil || e.granted() == 0 {
		return locks.ErrNoLease
	}
	if err := e.renew(ctx); err != nil {
		return l.fail(ctx, "renew", err)
	}
	return nil
}

// Release implements [locks.Lock]: revoking the lease deletes our entry, and
// nothing else, in one step.
func (l *Lock) Release(ctx context.Context) error {
	e, _ := l.state()
	if e == nil {
		return nil
	}
	e.end(errReleased, true)
	if err := e.revoke(ctx); err != nil {
		return l.fail(ctx, "release", err)
	}
	return nil
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
		close(l.closed)
	}
	l.mu.Unlock()
	if e != nil {
		e.end(errClosed, true)
	}
	l.c.close()
	l.workers.Wait()
	return nil
}

// SecretEnv implements [locks.SecretReader]. The names of the files with the
// password and the key of the client certificate count as secrets: with them
// goes the only way the job had to be told of them.
func (l *Lock) SecretEnv() []string { return etcdinfo.Info.Secrets() }

var (
	_ locks.Opener       = Open
	_ locks.Lock         = (*Lock)(nil)
	_ locks.SecretReader = (*Lock)(nil)
)
