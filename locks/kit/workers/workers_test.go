package workers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestUntil: a context ends with the handle, and one that is made later has ended already.
func TestUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := New()
		ctx, cancel := w.Until(t.Context())
		defer cancel()
		if ctx.Err() != nil {
			t.Error("the context has ended before the handle")
		}
		w.End()
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("the context has not ended with the handle")
		}
		late, cancel := w.Until(t.Context())
		defer cancel()
		if late.Err() == nil {
			t.Error("the context of a handle that has ended has not ended")
		}
	})
}

// TestWait: Wait waits for what runs, and after End nothing can be started.
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
			t.Error("Wait has not waited")
		}
		if err := w.Go(func(context.Context) { t.Error("it was started") }); err != ErrClosed {
			t.Errorf("got %v", err)
		}
	})
}

// TestTurn: one has the turn at a time, and who waits for it gives up when its context ends.
func TestTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn := NewTurn()
		if err := turn.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := turn.Take(ctx); err != context.DeadlineExceeded {
			t.Errorf("a second one: got %v", err)
		}
		took := false
		go func() { took = turn.Take(t.Context()) == nil }()
		synctest.Wait()
		if took {
			t.Error("two have the turn")
		}
		turn.Leave()
		synctest.Wait()
		if !took {
			t.Error("who waited has not got the turn")
		}
	})
}
