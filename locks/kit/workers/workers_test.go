package workers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestUntil: a context ends with the handle, and begins ended after that.
func TestUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := New()
		ctx, cancel := w.Until(t.Context())
		defer cancel()
		if ctx.Err() != nil {
			t.Error("it has ended before the handle")
		}
		w.End()
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("it has not ended with the handle")
		}
		late, cancel := w.Until(t.Context())
		defer cancel()
		if late.Err() == nil {
			t.Error("something could be sent for a handle that has ended")
		}
	})
}

// TestWait: who works is waited for, and nobody begins any more.
func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := New()
		done := false
		if err := w.Go(func(ctx context.Context) { <-ctx.Done(); time.Sleep(time.Second); done = true }); err != nil {
			t.Error(err)
		}
		w.End()
		w.Wait()
		if !done {
			t.Error("nobody waited")
		}
		if err := w.Go(func(context.Context) { t.Error("it runs") }); err != ErrClosed {
			t.Errorf("got %v", err)
		}
	})
}
