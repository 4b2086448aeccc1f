package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
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
		{nil, 7},
		{&locks.UsageError{What: "x"}, 64},
		{class(locks.ErrUsage), 64},
		{class(locks.ErrUnavailable), 69},
		{errors.New("anything else"), 70},
		{&locks.HeldError{}, 3},
		{class(locks.ErrHeld), 3},
		{class(locks.ErrLost), 76},
		{class(locks.ErrDenied), 77},
		{&proc.StartError{Command: "x", Err: fs.ErrPermission}, 126},
		{&proc.StartError{Command: "x", NotFound: true, Err: fs.ErrNotExist}, 127},
		{&runner.SignalError{Signal: syscall.SIGTERM}, 143},
		{&runner.SignalError{Signal: syscall.SIGINT}, 130},

		// What a term ended with may wrap what made its last renewal fail.
		{fmt.Errorf("%w: %w", locks.ErrLost, class(locks.ErrUnavailable)), 76},
		{fmt.Errorf("%w: %w", locks.ErrLost, class(locks.ErrDenied)), 76},
		// A file system denies in its own words.
		{&hinted{&proc.StartError{Command: "x", NotFound: true}, "hint"}, 127},
		{&reworded{class(locks.ErrUnavailable), "text"}, 69},
	} {
		p := testProgram(io.Discard)
		p.exit, p.held = 7, 3
		if got := p.status(tt.err); got != tt.want {
			t.Errorf("status(%v) = %d; want %d", tt.err, got, tt.want)
		}
	}
}

// TestReport checks what is printed: one line, its hint, and nothing about what
// needs no words.
func TestReport(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{&locks.HeldError{}, ""},
		{&runner.SignalError{Signal: syscall.SIGTERM}, ""},
		{&locks.UsageError{What: "x"}, "leaderrun: error: x\n"},
		{errors.Join(errors.New("one"), errors.New("two")), "leaderrun: error: one; two\n"},
		{&locks.Error{Op: "acquire", Backend: "b", Name: "n", Err: errors.New("why"), Hint: "do it"},
			"leaderrun: error: acquire \"n\" on b: why\nleaderrun: hint: do it\n"},
	} {
		var b strings.Builder
		testProgram(&b).report(tt.err)
		if b.String() != tt.want {
			t.Errorf("report(%v) prints %q; want %q", tt.err, &b, tt.want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	p := testProgram(io.Discard)
	for _, tt := range []struct {
		err  error
		want int
		text string
	}{
		{fmt.Errorf("%w: no renewal", locks.ErrLost), 76, `leadership of "x" was lost and the job was stopped: no renewal`},
		{fmt.Errorf("%w: etcd gave no answer", locks.ErrUnavailable), 69, `lock "x": etcd gave no answer`},
		{&locks.Error{Op: "acquire", Backend: "b", Name: "n", Class: locks.ErrHeld, Err: &locks.HeldError{Status: locks.Status{Holder: "h"}}}, 3, `lock "x": held by h`},
		{fmt.Errorf("open: %w", fs.ErrPermission), 77, "permission denied: open: permission denied"},
		{&proc.StartError{Command: "c", Err: fs.ErrPermission}, 126, `command "c" cannot be executed: permission denied`},
	} {
		p.held = 3
		err := p.explain(&options{lock: "x"}, tt.err)
		if got := p.status(err); got != tt.want || err.Error() != tt.text {
			t.Errorf("explain(%v) = %v, status %d; want %s, %d", tt.err, err, got, tt.text, tt.want)
		}
	}
}
