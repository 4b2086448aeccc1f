// Package workers runs the background goroutines of a handle until the handle is closed. This
// is a package of its own because both recipes need it, and so do backends without one.
package workers

import (
	"context"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
)

// ErrClosed is the error for whatever is asked of a handle that is closed.
const ErrClosed = locks.LostError("the handle was closed")

// Workers are the background goroutines of one handle.
type Workers struct {
	life context.Context // the handle's
	end  context.CancelFunc
	mu   sync.Mutex
	all  sync.WaitGroup
}

// New returns Workers without a goroutine.
func New() *Workers {
	w := &Workers{}
	w.life, w.end = context.WithCancel(context.Background())
	return w
}

// Go runs f in the background, with a context that ends with the handle. If the handle has
// ended, Go returns ErrClosed.
func (w *Workers) Go(f func(context.Context)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Over() {
		return ErrClosed
	}
	w.all.Go(func() { f(w.life) })
	return nil
}

// Until returns a context that ends with ctx and with the handle.
func (w *Workers) Until(ctx context.Context) (context.Context, context.CancelFunc) {
	return Join(ctx, w.life)
}

// End ends the contexts of all goroutines. It may be called again.
func (w *Workers) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

// Wait waits until all goroutines have returned.
func (w *Workers) Wait() { w.all.Wait() }

// Over reports whether the handle has ended.
func (w *Workers) Over() bool { return w.life.Err() != nil }

// Join returns a context that ends with either of two contexts. If one of them has ended
// already, so has the new one, so that nothing is sent with it.
func Join(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if other.Err() != nil {
		cancel()
	}
	stop := context.AfterFunc(other, cancel)
	return ctx, func() { stop(); cancel() }
}

// Poke puts a value into a channel that has room for one, unless it is full: changes that
// nobody has received yet are merged into one.
func Poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Replace puts a value into a channel that has room for one, in place of one that nobody has
// received yet. Only one goroutine may send at a time.
func Replace[T any](c chan T, v T) {
	select {
	case <-c:
	default:
	}
	c <- v
}

// A Turn is a mutex whose wait ends with a context.
type Turn chan struct{}

// NewTurn returns a Turn that nobody has.
func NewTurn() Turn { return make(Turn, 1) }

// Take waits until nobody else has the turn, or ctx ends.
func (t Turn) Take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave gives the turn to whoever waits.
func (t Turn) Leave() { <-t }
