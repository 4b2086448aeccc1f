// Package workers keeps what a handle does in the background, until it is closed.
package workers

import (
	"context"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
)

// ErrClosed says why nothing more is done for a handle.
const ErrClosed = locks.LostError("the handle was closed")

// Workers are those of one handle.
type Workers struct {
	life context.Context // the handle's
	end  context.CancelFunc
	mu   sync.Mutex
	all  sync.WaitGroup
}

// New returns none.
func New() *Workers {
	w := &Workers{}
	w.life, w.end = context.WithCancel(context.Background())
	return w
}

// Go runs f with a context that ends with the handle. If that has ended it returns
// ErrClosed.
func (w *Workers) Go(f func(context.Context)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Over() {
		return ErrClosed
	}
	w.all.Go(func() { f(w.life) })
	return nil
}

// Until returns a context that ends with the handle, too.
func (w *Workers) Until(ctx context.Context) (context.Context, context.CancelFunc) {
	return Join(ctx, w.life)
}

// End tells all workers to end. It may be called again.
func (w *Workers) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

// Wait waits until they have ended.
func (w *Workers) Wait() { w.all.Wait() }

// Over reports that the handle has ended.
func (w *Workers) Over() bool { return w.life.Err() != nil }

// Join returns a context that ends when another one does, too. If that has ended, so has
// this, before anything is sent with it.
func Join(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if other.Err() != nil {
		cancel()
	}
	stop := context.AfterFunc(other, cancel)
	return ctx, func() { stop(); cancel() }
}

// Poke puts a value into a channel that has room for one, unless there is one: what
// nobody has heard of yet is one change.
func Poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
