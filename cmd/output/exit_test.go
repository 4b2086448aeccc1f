package output

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	class := func(c error) error { return &locks.Error{Op: "acquire", Class: c, Err: errors.New("why")} }
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{&locks.UsageError{What: "x"}, 64},
		{class(locks.ErrUsage), 64},
		{class(locks.ErrUnavailable), 69},
		{errors.New("anything else"), 70},
		{&locks.HeldError{}, 75},
		{class(locks.ErrHeld), 75},
		{&Exit{Status: 3, Err: &locks.HeldError{}}, 3},
		{fmt.Errorf("lock: %w", &Exit{Status: 1}), 1},
		{class(locks.ErrLost), 76},
		{class(locks.ErrDenied), 77},
		{&proc.StartError{Command: "x", Err: fs.ErrPermission}, 126},
		{&proc.StartError{Command: "x", NotFound: true, Err: fs.ErrNotExist}, 127},
		{&proc.StartError{Command: "x", Err: threads.ErrOut}, 71},
		{&locks.Error{Class: locks.ErrUnavailable, Err: threads.ErrOut}, 71},
		{&runner.SignalError{Signal: syscall.SIGTERM}, 143},
		{&runner.SignalError{Signal: syscall.SIGINT}, 130},

		// The error that ends a term may wrap the one with which its last renewal failed.
		{fmt.Errorf("%w: %w", locks.ErrLost, class(locks.ErrUnavailable)), 76},
		{fmt.Errorf("%w: %w", locks.ErrLost, class(locks.ErrDenied)), 76},
		{fmt.Errorf("%w: %w", locks.ErrLost, threads.ErrOut), 76},
		// Hints and other texts do not change the class.
		{&hinted{&proc.StartError{Command: "x", NotFound: true}, "hint"}, 127},
		{Reword(class(locks.ErrUnavailable), "text"), 69},
	} {
		if got := Status(tt.err); got != tt.want {
			t.Errorf("Status(%v) = %d; want %d", tt.err, got, tt.want)
		}
	}
}

// TestReport checks what is printed: one line and its hint, and nothing for errors that only
// have a status.
func TestReport(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{&Exit{Status: 1}, ""},
		{&Exit{Status: 3, Err: &locks.HeldError{}, Quiet: true}, ""},
		{&Exit{Status: 1, Err: errors.New("no")}, "leaderrun: error: no\n"},
		{&runner.SignalError{Signal: syscall.SIGTERM}, ""},
		{&locks.UsageError{What: "x"}, "leaderrun: error: x\n"},
		{errors.Join(errors.New("one"), errors.New("two")), "leaderrun: error: one; two\n"},
		{&locks.Error{Op: "acquire", Backend: "b", Name: "n", Err: errors.New("why"), Hint: "do it"},
			"leaderrun: error: acquire \"n\" on b: why\nleaderrun: hint: do it\n"},
		{Reword(&locks.Error{Op: "acquire", Err: errors.New("why"), Hint: "do it"}, "%d words", 2), "leaderrun: error: 2 words\nleaderrun: hint: do it\n"},
	} {
		var b strings.Builder
		testConsole(&b).Report(tt.err)
		if b.String() != tt.want {
			t.Errorf("Report(%v) prints %q; want %q", tt.err, &b, tt.want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want int
		text string
	}{
		{fmt.Errorf("%w: etcd gave no answer", locks.ErrUnavailable), 69, `lock "x": etcd gave no answer`},
		{&locks.Error{Op: "acquire", Backend: "b", Name: "n", Class: locks.ErrHeld, Err: &locks.HeldError{Status: locks.Status{Holder: "h"}}}, 75, `lock "x": held by h`},
		{fmt.Errorf("open: %w", fs.ErrPermission), 77, "permission denied: open: permission denied"},
		{&proc.StartError{Command: "c", Err: fs.ErrPermission}, 126, `command "c" cannot be executed: permission denied`},
	} {
		err := Explain("x", tt.err)
		if got := Status(err); got != tt.want || err.Error() != tt.text {
			t.Errorf("Explain(%v) = %v, status %d; want %s, %d", tt.err, err, got, tt.text, tt.want)
		}
	}
}
