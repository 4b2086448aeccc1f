package zookeeper

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zkinfo"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// undoTimeout bounds what is done at the end without need: what it does not reach
// ends with the session.
const undoTimeout = time.Second

// A Lock is a handle on one lock in one ensemble. It implements [locks.Lock], by the
// recipe of package queue.
type Lock struct {
	*queue.Lock
	zk *lock
}

// A lock is what one handle sees of a lock in an ensemble. It implements [queue.Store].
type lock struct {
	settings *settings
	o        locks.Options
	node     string // the path of the lock's node
	log      *slog.Logger
	workers  *queue.Workers
}

// Open makes a Lock. It implements [locks.Opener], and contacts nothing.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	addr := "zk://" + strings.Join(s.servers, ",")
	l := &lock{settings: s, o: o, log: queue.Logger(addr, o), workers: queue.NewWorkers()}
	l.node = l.path(o.Name)
	s.users.log = l.log
	if s.tls != nil {
		s.tls.Log = l.log
	}
	return &Lock{queue.New(l, queue.Traits{Backend: addr, Unordered: s.unfair}, o), l}, nil
}

// path is that of a lock's node.
func (l *lock) path(name string) string { return l.settings.chroot + "/" + locks.EscapeName(name) }

// Close implements [queue.Store].
func (l *lock) Close() {
	l.workers.End()
	l.workers.Wait()
}

// SecretEnv implements [locks.SecretReader]. The name of the file with the key
// of the client certificate counts as a secret: with it goes the only way the
// job had to be told of it.
func (l *Lock) SecretEnv() []string { return zkinfo.Info.Secrets() }

var (
	_ locks.Opener       = Open
	_ locks.SecretReader = (*Lock)(nil)
	_ queue.Lister       = (*lock)(nil)
	_ queue.Watcher      = (*lock)(nil)
	_ queue.Prober       = (*lock)(nil)
	_ queue.Tidier       = (*entry)(nil)
)
