package etcd

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// lookEvery is how often we look for changes in addition to a watch: a watch on a member
// that hangs reports nothing, and does not end.
const lookEvery = 10 * time.Second

// A lock is one handle on a lock in a cluster. It implements [queue.Store].
type lock struct {
	c         *client
	o         locks.Options
	settings  *settings
	log       *slog.Logger
	prefix    string // what all keys begin with: "/a/b/"
	queue     string // what the keys of all entries begin with
	lookEvery time.Duration
}

// Open returns a handle on one lock, by the recipe of package queue. It implements
// [locks.Opener]: it begins to connect, and does not wait for the server.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	l, err := newLock(u, o)
	if err != nil {
		return nil, err
	}
	return l.handle(), nil
}

func newLock(u *url.URL, o locks.Options) (*lock, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	addr := address(s.endpoints) + s.prefix
	l := &lock{o: o, settings: s, log: handle.Logger(addr, o), prefix: s.prefix + "/", lookEvery: lookEvery}
	l.queue = l.keyOf(o.Name, queueSuffix)
	if s.tls != nil {
		s.tls.Log = l.log
	}
	s.password.log = l.log
	if l.c, err = newClient(s, o.ConnectTimeout); err != nil {
		return nil, &locks.Error{Op: "open", Backend: addr, Name: o.Name, Class: locks.ErrUsage, Err: err}
	}
	return l, nil
}

// handle returns the handle. The names of the files with the password and the key of the
// client certificate count as secrets: without the names, the job does not learn of the
// files.
func (l *lock) handle() *queue.Lock {
	return queue.New(l, queue.Traits{Backend: address(l.settings.endpoints) + l.settings.prefix, Secrets: known.Etcd.Secrets()}, l.o)
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

// Close implements [queue.Store].
func (l *lock) Close() { l.c.close() }

var _ locks.Opener = Open
