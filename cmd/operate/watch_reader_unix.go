//go:build unix

package operate

import (
	"context"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner"
)

// errUnread ends what follows something when nobody reads it any more. It is how a
// write to such a pipe would have ended us.
var errUnread = &runner.SignalError{Signal: syscall.SIGPIPE}

// whileRead returns a context that ends, with errUnread, when f is a pipe that nobody
// reads any more. A write would find that out only at the next change, for which
// `leaderrun watch | grep -m 1 …` is not to wait.
func whileRead(ctx context.Context, f *os.File) context.Context {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return ctx
	}
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		for {
			fds := []unix.PollFd{{Fd: int32(f.Fd())}}
			_, err := unix.Poll(fds, -1)
			switch {
			case err == unix.EINTR:
			case err != nil:
				return // a write will tell
			case fds[0].Revents != 0:
				end(errUnread)
				return
			}
		}
	}()
	return ctx
}
