package consul

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// A lock is what one handle sees of a lock. It implements [queue.Store].
type lock struct {
	client *client
	o      locks.Options
	key    string // of the lock
	log    *slog.Logger

	mu     sync.Mutex
	lapses map[string]lapse // by the lock's name
}

// Open makes a handle on one lock, by the recipe of package queue. It implements
// [locks.Opener], and contacts nothing.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	if _, number := locks.CutSlot(o.Name); s.compat && number >= 0 {
		return nil, locks.Usagef("--slots: with compat=consul-lock there are no slots, because `consul lock -n` would not see who has one")
	}
	if s.compat && o.TTL > maxLockDelay {
		return nil, locks.Usagef("--ttl: with compat=consul-lock at most %v, because only a lock delay, which is no longer, keeps `consul lock` out if a session ends early", maxLockDelay)
	}
	backend := "consul://" + s.addr + "/" + s.prefix
	log := handle.Logger(backend, o)
	if s.tls != nil {
		s.tls.Log = log
	}
	l := &lock{client: newClient(s, o.ConnectTimeout, log), o: o, key: s.key(o.Name), log: log, lapses: map[string]lapse{}}
	return queue.New(l, queue.Traits{Backend: backend, Secrets: known.Consul.Secrets(), Unordered: true}, o), nil
}

func (l *lock) recordKey() string { return l.client.settings.under(l.o.Name) + recordSuffix }
func (l *lock) askKey() string    { return l.client.settings.under(l.o.Name) + askSuffix }

// Close implements [queue.Store].
func (l *lock) Close() { l.client.http.CloseIdleConnections() }

// wait is how long a blocking query waits for a change: as long as from one renewal to the
// next, because only then do we notice a connection that has gone silent.
func (l *lock) wait() time.Duration { return min(max(l.o.TTL/5, time.Second), 10*time.Second) }

// retry repeats f within the connect timeout as long as its error may pass. An address
// where nobody listens is reported at once. Of several errors the first one says most. It stops
// early enough for the caller to learn why.
func (l *lock) retry(ctx context.Context, f func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	var why error
	late := time.Now().Add(l.o.ConnectTimeout * 3 / 4)
	for pause := new(backoff.Backoff); ; {
		err := f(limited)
		if err == nil || !transient(err) || causes.NoConnection(err) {
			return err
		}
		if why == nil || limited.Err() == nil {
			why = err
		}
		if time.Now().Add(pause.Next()).After(late) || pause.Wait(limited) != nil {
			return why
		}
	}
}

var _ locks.Opener = Open
