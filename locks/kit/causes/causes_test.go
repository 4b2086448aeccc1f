package causes_test

import (
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
		{Pattern: "wrong password", Denied: true, Hint: "correct it"},
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
		{locks.LostError("a wrong password"), true, locks.ErrLost, "a wrong password", ""},
		{&locks.HeldError{}, true, locks.ErrHeld, "held by someone else", ""},
	} {
		e := causes.Explain(tt.err, tt.err.Error(), all, tt.onlyTime, 2*time.Second)
		if e.Class != tt.class || e.Err.Error() != tt.text || e.Hint != tt.hint {
			t.Errorf("%+v: got %+v", tt, e)
		}
	}
}

// TestUnreachable checks which errors of a connection mean that none could be made.
func TestUnreachable(t *testing.T) {
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
		if got := causes.Unreachable(tt.err); got != tt.want {
			t.Errorf("%v: got %v", tt.err, got)
		}
	}
}
