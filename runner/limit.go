package runner

import (
	"context"
	"sync"
	"time"
)

// A limit ends the context of a campaign when the wait is over, but not before
// the first answer: flock(1) looks at the lock once, however short its -w, and
// a lock that is held must not look like a server that is down because the wait
// was shorter than the way to the server. The first answer may take a second, or the
// connect timeout if that is shorter.
//
// If the first answer is a grant, it is taken even if the wait is over.
type limit struct {
	cancel context.CancelFunc
	over   time.Time // when the wait is, if that is before cancel's deadline; else zero
	known  sync.Once // that the lock is held, or why there is no answer
}

// limited returns a context that ends as a campaign must. Its limit's cancel must be
// called at the end.
func (c *Config) limited(ctx context.Context) (context.Context, *limit) {
	l := new(limit)
	switch {
	case c.Try:
		ctx, l.cancel = context.WithTimeout(ctx, c.ConnectTimeout)
	case c.Wait == nil:
		ctx, l.cancel = context.WithCancel(ctx)
	default:
		first := min(time.Second, c.ConnectTimeout)
		if *c.Wait < first {
			l.over = time.Now().Add(*c.Wait)
		}
		ctx, l.cancel = context.WithTimeout(ctx, max(*c.Wait, first))
	}
	return ctx, l
}

// answered is called with each answer. From the first one on, the wait ends when it is
// over.
func (l *limit) answered() {
	if l.over.IsZero() {
		return
	}
	l.known.Do(func() {
		if left := time.Until(l.over); left > 0 {
			time.AfterFunc(left, l.cancel)
		} else {
			l.cancel()
		}
	})
}
