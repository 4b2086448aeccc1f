package queue

import (
	"context"
	"sync"
)

// Workers is what goes on in the background of a handle, until that is closed.
type Workers struct {
	ended chan struct{}
	mu    sync.Mutex
	all   sync.WaitGroup
}

// NewWorkers returns none.
func NewWorkers() *Workers { return &Workers{ended: make(chan struct{})} }

// Go runs f with a context that ends with the handle. If that has ended it returns
// ErrClosed.
func (w *Workers) Go(f func(context.Context)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over() {
		return ErrClosed
	}
	w.all.Go(func() {
		ctx, cancel := until(context.Background(), w.ended)
		defer cancel()
		f(ctx)
	})
	return nil
}

// End tells all workers to end. It may be called again.
func (w *Workers) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over() {
		close(w.ended)
	}
}

// Wait waits until they have ended.
func (w *Workers) Wait() { w.all.Wait() }

func (w *Workers) over() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// until returns a context that ends when a channel is closed, too.
func until(ctx context.Context, ended <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
