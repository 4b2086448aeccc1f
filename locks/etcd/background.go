package etcd

import "context"

// background runs f, with a context that ends with the handle, too.
// Close waits for it. A closed handle does nothing more.
func (l *Lock) background(ctx context.Context, f func(context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isClosed() {
		return false
	}
	l.workers.Go(func() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-l.closed:
				cancel()
			case <-ctx.Done():
			}
		}()
		f(ctx)
	})
	return true
}

func (l *Lock) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}
