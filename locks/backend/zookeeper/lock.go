package zookeeper

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
	"github.com/leaderrun/leaderrun/locks/kit/workers"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// undoTimeout bounds clean-up at the end. What is left then ends with the session.
const undoTimeout = time.Second

// A lock is one handle on a lock in an ensemble. It implements [queue.Store].
type lock struct {
	settings *settings
	o        locks.Options
	node     string // the path of the lock's node
	log      *slog.Logger
	workers  *workers.Workers
}

// Open returns a handle on one lock, by the recipe of package queue. It implements
// [locks.Opener]: it sends nothing.
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
	l := &lock{settings: s, o: o, workers: workers.New()}
	l.log = handle.Logger(l.address(), o)
	l.node = l.path(o.Name)
	s.users.log = l.log
	if s.tls != nil {
		s.tls.Log = l.log
	}
	return l, nil
}

// handle returns the handle. The name of the file with the key of the client certificate
// counts as a secret: without the name, the job does not learn of the file.
func (l *lock) handle() *queue.Lock {
	return queue.New(l, queue.Traits{Backend: l.address(), Secrets: known.ZooKeeper.Secrets(), Unordered: l.settings.unfair}, l.o)
}

func (l *lock) address() string {
	return "zk://" + strings.Join(l.settings.servers, ",") + l.settings.chroot
}

// path returns the path of a lock's node.
func (l *lock) path(name string) string { return l.settings.chroot + "/" + locks.EscapeName(name) }

// Close implements [queue.Store].
func (l *lock) Close() {
	l.workers.End()
	l.workers.Wait()
}

var (
	_ locks.Opener = Open
	_ queue.Tidier = (*entry)(nil)
)
