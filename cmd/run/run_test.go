package run

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
	"github.com/leaderrun/leaderrun/runner"
)

func TestMain(m *testing.M) {
	tester.Forget()
	os.Exit(m.Run())
}

// TestExit: an error names what the user knows, and has the exit status that the user has
// chosen for it.
func TestExit(t *testing.T) {
	t.Parallel()
	held := &locks.HeldError{Status: locks.Status{Holder: "h"}}
	for _, tt := range []struct {
		err   error
		given bool // -E 3
		want  int
		text  string
	}{
		{held, false, 75, `lock "x": timed out: still held by h`},
		{held, true, 3, `lock "x": timed out: still held by h`},
		{&locks.Error{Op: "acquire", Class: locks.ErrHeld, Err: held}, true, 3, `lock "x": timed out: still held by h`},
		{&runner.SkippedError{}, false, 0, ""},
		{&runner.SkippedError{}, true, 3, ""},
		{fmt.Errorf("%w: no renewal", locks.ErrLost), true, 76, `leadership of "x" was lost and the job was stopped: no renewal`},
		{fmt.Errorf("%w: %w", locks.ErrLost, locks.ErrHeld), true, 76, `leadership of "x" was lost and the job was stopped: held by someone else`},
		{&runner.TimeoutError{Limit: time.Second}, true, 124, ""},
		{errors.New("anything else"), true, 70, "anything else"},
	} {
		v := options.NewValues()
		v.Lock = "x"
		if tt.given {
			v.Conflict.N, v.Conflict.Given = 3, true
		}
		s := &session{opt: v}
		err := s.exit(s.explain(tt.err))
		if got := output.Status(err); got != tt.want || tt.text != "" && err.Error() != tt.text {
			t.Errorf("%v, -E given: %v: got %v, status %d; want %s, %d", tt.err, tt.given, err, got, tt.text, tt.want)
		}
	}
}

// TestHeldAfterAWait: if the lock is held, -n prints nothing, and -w prints who holds it.
func TestHeldAfterAWait(t *testing.T) {
	t.Parallel()
	for _, nonblock := range []bool{false, true} {
		v := options.NewValues()
		v.Lock, v.Nonblock = "x", nonblock
		s := &session{opt: v}
		var exit *output.Exit
		err := s.exit(s.explain(&locks.HeldError{Status: locks.Status{Holder: "h"}}))
		if !errors.As(err, &exit) || exit.Quiet != nonblock || exit.Status != 75 {
			t.Errorf("-n given: %v: got %+v", nonblock, exit)
		}
	}
}
