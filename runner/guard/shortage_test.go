package guard

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/leaderrun/leaderrun/locks/program/threads"
)

// TestShortage: a lack of memory, descriptors or tasks may pass. A limit of namespaces (ENOSPC) and
// missing rights do not.
func TestShortage(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		nil: false, syscall.ENOMEM: true, syscall.EMFILE: true, syscall.ENFILE: true,
		threads.Refused(syscall.EAGAIN): true, syscall.EPERM: false, syscall.ENOSPC: false, syscall.EROFS: false,
	} {
		if err != nil {
			err = fmt.Errorf("start the guard process: %w", &os.PathError{Op: "fork/exec", Path: "/x", Err: err})
		}
		if got := isShortage(err); got != want {
			t.Errorf("%v: got %v", err, got)
		}
	}
}
