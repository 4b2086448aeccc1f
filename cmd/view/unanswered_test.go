package view

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

func TestUnanswered(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	silent := &locks.Error{Op: "inspect", Backend: "etcd://h", Name: "x", Err: context.DeadlineExceeded}
	for _, tt := range []struct {
		name        string
		ctx         context.Context
		err         error
		unavailable bool
	}{
		{"no answer in time", context.Background(), silent, true},
		{"no answer, and nothing else known", context.Background(), context.DeadlineExceeded, true},
		{"given up by the user", ended, silent, false},
		{"refused", context.Background(), &locks.Error{Op: "inspect", Class: locks.ErrDenied, Err: errors.New("no")}, false},
		{"of no class", context.Background(), &locks.Error{Op: "inspect", Err: errors.New("disk I/O error")}, true},
		{"of no class, and nothing else known", context.Background(), errors.New("disk I/O error"), true},
		{"a failure after the end", ended, errors.New("disk I/O error"), false},
		{"a file that we may not read", context.Background(), &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}, false},
		{"lost", context.Background(), locks.ErrLost, false},
	} {
		got := unanswered(tt.ctx, tt.err)
		if errors.Is(got, locks.ErrUnavailable) != tt.unavailable {
			t.Errorf("%s: %v", tt.name, got)
		}
		if e := (*locks.Error)(nil); errors.As(tt.err, &e) && got.Error() != tt.err.Error() {
			t.Errorf("%s: the class is in the text: %v", tt.name, got)
		}
	}
	if silent.Class != nil {
		t.Error("the caller's error was changed")
	}
}
