package runner

import (
	"context"
	"sync"
	"time"
)

// A limit ends the context of a campaign when the wait is over, but not before
// the first answer: flock(1) looks at the lock once, however short its -w, and
// a lock that is held must not pass for a server that is down because the wait
// was shorter than the way to the server. It is awaited for a second, if the
// connect timeout is not less.
//
// A lock that is granted after the wait is over, but as the first answer, is
// taken, as one that is free is with any wait.
type limit struct {
	cancel context.CancelFunc

	mu      sync.Mutex
	over    bool // the wait is
	learned bool // that the lock is held, or why there is no answer
}

// limited returns a context that ends as a campaign must, and a function that
// must be called at its end.
func (r *run) limited(ctx context.Context) (context.Context, *limit, func()) {
	l := new(limit)
	switch {
	case r.Try:
		ctx, l.cancel = context.WithTimeout(ctx, r.ConnectTimeout)
	case r.Wait == nil:
		ctx, l.cancel = context.WithCancel(ctx)
	case *r.Wait >= r.firstLook():
		ctx, l.cancel = context.WithTimeout(ctx, *r.Wait)
	default:
		ctx, l.cancel = context.WithTimeout(ctx, r.firstLook())
		timer := time.AfterFunc(*r.Wait, l.end)
		return ctx, l, func() { timer.Stop(); l.cancel() }
	}
	return ctx, l, l.cancel
}

// firstLook is how long the first answer may take, at least.
func (r *run) firstLook() time.Duration { return min(time.Second, r.ConnectTimeout) }

// end tells that the wait is over.
func (l *limit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.learned {
		l.cancel()
	}
}

// learn tells that there is an answer.
func (l *limit) learn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.learned = true
	if l.over {
		l.cancel()
	}
}
