package causes_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	all := []causes.Cause{
		{Pattern: "wrong password", Kind: causes.Denied, Hint: "correct it"},
		{Pattern: "password", Text: "something about it", Hint: "look"},
	}
	for _, tt := range []struct {
		err        error
		onlyTime   bool
		class      error
		text, hint string
	}{
		{errors.New("a wrong password"), true, locks.ErrDenied, "a wrong password", "correct it"},
		{errors.New("a password"), true, locks.ErrUnavailable, "something about it", "look"},
		{errors.New("other"), false, locks.ErrUnavailable, "other", ""},
		{errors.New("other"), true, locks.ErrUnavailable, "no answer within 2s", causes.HintSilent},
	} {
		e := causes.Explain(tt.err, tt.err.Error(), all, tt.onlyTime, 2*time.Second)
		if e.Class != tt.class || e.Err.Error() != tt.text || e.Hint != tt.hint {
			t.Errorf("%+v: got %+v", tt, e)
		}
	}
}

// TestFaultExplain: a text or a hint says more than that there was no answer. The kind decides the
// class.
func TestFaultExplain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault      causes.Fault
		onlyTime   bool
		class      error
		text, hint string
	}{
		{causes.Fault{Text: "text"}, true, locks.ErrUnavailable, "text", ""},
		{causes.Fault{Hint: "hint"}, true, locks.ErrUnavailable, "its own", "hint"},
		{causes.Fault{}, false, locks.ErrUnavailable, "its own", ""},
		{causes.Fault{}, true, locks.ErrUnavailable, "no answer within 1s", "silent"},
		{causes.Fault{Kind: causes.Denied}, false, locks.ErrDenied, "its own", ""},
		{causes.Fault{Kind: causes.Refused}, false, locks.ErrRefused, "its own", ""},
		{causes.Fault{Kind: causes.Misnamed}, false, locks.ErrUsage, "its own", ""},
	} {
		e := tt.fault.Explain(errors.New("its own"), tt.onlyTime, time.Second, "silent")
		if e.Class != tt.class || e.Err.Error() != tt.text || e.Hint != tt.hint {
			t.Errorf("%+v: got %+v", tt, e)
		}
	}
}

// TestKinds: of which errors a repetition may help, and which had no effect.
func TestKinds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[causes.Kind]struct{ transient, noEffect bool }{
		causes.Unknown: {true, false}, causes.Changed: {false, true}, causes.Throttled: {true, true}, causes.Unsent: {true, true},
		causes.Unreachable: {true, true}, causes.Refused: {false, true}, causes.Denied: {false, true}, causes.Misnamed: {false, true}, causes.Ended: {false, true},
	} {
		if kind.Transient() != want.transient || kind.NoEffect() != want.noEffect {
			t.Errorf("kind %d: got %t, %t", kind, kind.Transient(), kind.NoEffect())
		}
	}
	for err, want := range map[error]bool{context.Canceled: true, fmt.Errorf("x: %w", context.DeadlineExceeded): true, errors.New("x"): false} {
		if causes.IsContext(err) != want {
			t.Errorf("IsContext(%v) is %t", err, !want)
		}
	}
}

// TestOf: the first cause that matches counts. An error that only says that the time was up has
// no text, because whoever knows the time has a better one.
func TestOf(t *testing.T) {
	t.Parallel()
	no, other := errors.New("no"), errors.New("other")
	is := func(e error) func(error) bool { return func(err error) bool { return errors.Is(err, e) } }
	all := []causes.Cause{
		{Is: is(no), Kind: causes.Denied, Hint: "ask"}, {Pattern: "no", Kind: causes.Refused},
		{Is: is(context.Canceled), Kind: causes.Unsent, Text: "ended"}, {Pattern: "pattern", Kind: causes.Throttled},
	}
	for err, want := range map[error]causes.Fault{
		no: {Kind: causes.Denied, Text: "plain no", Hint: "ask"}, context.Canceled: {Kind: causes.Unsent, Text: "ended"},
		context.DeadlineExceeded: {}, other: {Text: "plain other"}, fmt.Errorf("read: %w", no): {Kind: causes.Denied, Text: "plain read: no", Hint: "ask"},
		errors.New("a pattern"): {Kind: causes.Throttled, Text: "plain a pattern"},
	} {
		if got := causes.Of(err, "plain "+err.Error(), all, causes.IsContext(err)); got != want {
			t.Errorf("%v: got %+v, want %+v", err, got, want)
		}
	}
}

// TestNoConnection checks which errors of a connection mean that none could be made.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("x: %w", refused), true},
		{&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, true},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, false},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, false},
		{errors.New("connection refused"), false},
	} {
		if got := causes.NoConnection(tt.err); got != tt.want {
			t.Errorf("%v: got %v", tt.err, got)
		}
	}
}
