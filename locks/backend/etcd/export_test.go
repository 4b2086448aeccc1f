package etcd

import (
	"context"
	"net/url"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// OpenUnhurried is like Open, but the handle never looks for what its watches may have
// missed, so that its number of requests does not depend on how long a test takes.
func OpenUnhurried(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	l, err := newLock(u, o)
	if err != nil {
		return nil, err
	}
	l.lookEvery = 24 * time.Hour
	return l.handle(), nil
}
