package locks_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

func TestErrorHasClassAndCause(t *testing.T) {
	err := fmt.Errorf("campaign: %w", &locks.Error{
		Op: "acquire", Backend: "etcd 127.0.0.1:2379", Name: "jobs/nightly",
		Class: locks.ErrUnavailable, Err: fmt.Errorf("dial: %w", context.DeadlineExceeded), Hint: "is etcd running",
	})
	for _, target := range []error{locks.ErrUnavailable, context.DeadlineExceeded} {
		if !errors.Is(err, target) {
			t.Errorf("errors.Is(%v, %v) is false", err, target)
		}
	}
	for _, other := range []error{locks.ErrHeld, locks.ErrLost, locks.ErrDenied, locks.ErrUsage, locks.ErrNoLease} {
		if errors.Is(err, other) {
			t.Errorf("errors.Is(%v, %v) is true", err, other)
		}
	}
	if got, want := err.Error(), `campaign: acquire "jobs/nightly" on etcd 127.0.0.1:2379: dial: context deadline exceeded`; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
	if got, want := locks.Hint(err), "is etcd running"; got != want {
		t.Errorf("Hint: got %q; want %q", got, want)
	}
}

func TestErrorWithoutClass(t *testing.T) {
	err := &locks.Error{Op: "open", Err: fs.ErrNotExist}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v does not wrap its cause", err)
	}
	for _, class := range []error{nil, locks.ErrHeld, locks.ErrLost, locks.ErrDenied, locks.ErrUnavailable, locks.ErrUsage} {
		if errors.Is(err, class) {
			t.Errorf("%v is %v", err, class)
		}
	}
	if got := locks.Hint(err); got != "" {
		t.Errorf("Hint: got %q; want none", got)
	}
	if got := locks.Hint(nil); got != "" {
		t.Errorf("Hint of no error: got %q", got)
	}
}

func TestHeldError(t *testing.T) {
	var err error = &locks.Error{Op: "acquire", Backend: "file", Name: "a", Err: &locks.HeldError{Status: locks.Status{Held: true, Holder: "host/1/\x1b[2J"}}}
	if !errors.Is(err, locks.ErrHeld) {
		t.Errorf("%v is not ErrHeld", err)
	}
	held, ok := errors.AsType[*locks.HeldError](err)
	if !ok || held.Status.Holder != "host/1/\x1b[2J" {
		t.Errorf("the status is lost: %+v", held)
	}
	if got, want := err.Error(), `acquire "a" on file: held by host/1/\x1b[2J`; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
	if got, want := (&locks.HeldError{}).Error(), "held by someone else"; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestUsageError(t *testing.T) {
	err := locks.Unknown("parameter", "cacrt", []string{"cacert", "cert", "key"})
	if !errors.Is(err, locks.ErrUsage) {
		t.Errorf("%v is not ErrUsage", err)
	}
	if got, want := err.Error(), `unknown parameter "cacrt" (did you mean "cacert"?); known: cacert, cert, key`; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
	if got, want := locks.Unknown("backend", "x\n", nil).Error(), `unknown backend "x\n"`; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}

// TestEnded: when the caller's context has ended an error wraps that, but not if it is lost.
func TestEnded(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ctx      context.Context
		class    error
		onlyTime bool
		want     string
	}{
		{t.Context(), locks.ErrDenied, true, "why"},
		{over, locks.ErrDenied, false, "context canceled (why)"},
		{over, locks.ErrUnavailable, true, "context canceled"},
		{over, locks.ErrLost, true, "why"},
	} {
		e := (&locks.Error{Class: tt.class, Err: errors.New("why")}).Ended(tt.ctx, tt.onlyTime)
		if e.Err.Error() != tt.want || errors.Is(e, context.Canceled) != (tt.want != "why") {
			t.Errorf("%+v: got %v", tt, e.Err)
		}
	}
}
