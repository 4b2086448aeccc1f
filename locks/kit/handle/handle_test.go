package handle

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

func newHandle() *Handle {
	return New("sim://h", locks.Options{Name: "jobs"}, func(err error) (*locks.Error, bool) {
		return &locks.Error{Class: locks.ErrDenied, Err: errors.New("plain " + err.Error()), Hint: "ask"}, causes.IsContext(err)
	})
}

// TestFail: an error that has a class keeps it and its text, and others are explained. The end
// of the caller's context is in the error, except that a loss is a loss.
func TestFail(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	lost, held := locks.LostError("it is gone"), &locks.HeldError{}
	for _, tt := range []struct {
		ctx        context.Context
		err, class error
		text, hint string
	}{
		{t.Context(), lost, locks.ErrLost, `do "jobs" on sim://h: it is gone`, ""},
		{t.Context(), held, locks.ErrHeld, "held by someone else", ""},
		{t.Context(), locks.Usagef("what"), locks.ErrUsage, `do "jobs" on sim://h: what`, ""},
		{t.Context(), errors.New("no"), locks.ErrDenied, `do "jobs" on sim://h: plain no`, "ask"},
		{ended, lost, locks.ErrLost, `do "jobs" on sim://h: it is gone`, ""},
		{ended, held, context.Canceled, `do "jobs" on sim://h: context canceled (held by someone else)`, ""},
		{ended, errors.New("no"), context.Canceled, `do "jobs" on sim://h: context canceled (plain no)`, "ask"},
		{ended, context.DeadlineExceeded, context.Canceled, `do "jobs" on sim://h: context canceled`, "ask"},
	} {
		err := newHandle().Fail(tt.ctx, "do", tt.err)
		if !errors.Is(err, tt.class) || err.Error() != tt.text || locks.Hint(err) != tt.hint {
			t.Errorf("%v: got %v, hint %q", tt.err, err, locks.Hint(err))
		}
	}
}

// TestRequestFails: an error of a request is explained, whether the caller's context has ended or
// not, and no request is made once it has.
func TestRequestFails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := newHandle()
	if err := h.Request(ctx, "do", func(context.Context) error { return nil }); err != nil {
		t.Errorf("a success: %v", err)
	}
	for _, failure := range []error{errors.New("no"), context.Canceled} { // such as a server's word
		err := h.Request(ctx, "do", func(context.Context) error { return failure })
		if !errors.Is(err, locks.ErrDenied) || errors.Is(err, workers.ErrClosed) {
			t.Errorf("%v: got %v", failure, err)
		}
	}
	err := h.Request(ctx, "do", func(context.Context) error { cancel(); h.Workers.End(); return context.Canceled })
	if !errors.Is(err, context.Canceled) || errors.Is(err, workers.ErrClosed) {
		t.Errorf("the context has ended: got %v", err)
	}
	h = newHandle()
	if err := h.Request(ctx, "do", func(context.Context) error { t.Error("it was sent"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("it had ended before: got %v", err)
	}
	h.Workers.End()
	if err := h.Request(t.Context(), "do", func(context.Context) error { return nil }); !errors.Is(err, workers.ErrClosed) {
		t.Errorf("closed: got %v", err)
	}
}

// TestClosed: a handle that is closed ends its requests and watches, and makes no others. The
// error says that it was closed.
func TestClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHandle()
		wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		during := make(chan error, 2)
		go func() { during <- h.Request(t.Context(), "do", wait) }()
		go func() {
			_, err := h.Watch(t.Context(), func(ctx context.Context, _ func(), _ chan<- struct{}) error { return wait(ctx) })
			during <- err
		}()
		changes, err := h.Watch(t.Context(), func(ctx context.Context, begun func(), changes chan<- struct{}) error {
			begun()
			workers.Poke(changes)
			return wait(ctx)
		})
		if err != nil {
			t.Fatal(err)
		}
		<-changes
		synctest.Wait()
		h.Workers.End()
		for range 2 {
			if err := <-during; !errors.Is(err, workers.ErrClosed) {
				t.Errorf("what was under way: got %v", err)
			}
		}
		if _, more := <-changes; more {
			t.Error("the watch goes on")
		}
		if err := h.Request(t.Context(), "do", func(context.Context) error { t.Error("it was sent"); return nil }); !errors.Is(err, workers.ErrClosed) {
			t.Errorf("got %v", err)
		}
		if _, err := h.Watch(t.Context(), nil); !errors.Is(err, workers.ErrClosed) {
			t.Errorf("a watch: got %v", err)
		}
	})
}
