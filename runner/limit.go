package runner

import (
	"context"
	"sync"
	"time"
)

// A limit ends the context of a campaign when the wait is over, but not before the first
// answer. Otherwise, if the wait is shorter than the way to the server, a lock that is
// held would look like a server that is down; and flock(1) also looks at the lock once,
// however short its -w. The first answer may take a second, or the connect timeout if that
// is shorter.
//
// If the first answer is a grant, it counts even if the wait is over.
type limit struct {
	cancel context.CancelFunc
	over   time.Time // the end of the wait, if the context ends later; else zero
	first  sync.Once // of the answers
}

// limited returns a context that ends when a campaign must, and its limit. The caller must
// call the limit's cancel.
func (r *run) limited(ctx context.Context) (context.Context, *limit) {
	l := new(limit)
	switch {
	case r.Try:
		ctx, l.cancel = context.WithTimeout(ctx, r.ConnectTimeout)
	case r.Wait == nil:
		ctx, l.cancel = context.WithCancel(ctx)
	default:
		first := min(time.Second, r.ConnectTimeout)
		if *r.Wait < first {
			l.over = time.Now().Add(*r.Wait)
		}
		ctx, l.cancel = context.WithTimeout(ctx, max(*r.Wait, first))
	}
	return ctx, l
}

// answered is called at each answer. After the first one, the context ends when the wait
// is over.
func (l *limit) answered() {
	if l.over.IsZero() {
		return
	}
	l.first.Do(func() {
		if left := time.Until(l.over); left > 0 {
			time.AfterFunc(left, l.cancel)
		} else {
			l.cancel()
		}
	})
}
