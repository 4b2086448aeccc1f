package operate

import (
	"context"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner"
)

// errUnread ends a watch when its output has no reader any more. A write to such a pipe
// would have ended us with the same signal.
var errUnread = &runner.SignalError{Signal: syscall.SIGPIPE}

// whileRead returns a context that ends with errUnread if f is a pipe that has no reader
// any more. A write would notice only at the next change, and
// `leaderrun watch | grep -m 1 …` should not wait for that.
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
				return // a write will notice
			case fds[0].Revents != 0:
				end(errUnread)
				return
			}
		}
	}()
	return ctx
}
