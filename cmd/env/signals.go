package env

import (
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/leaderrun/leaderrun/runner/signals"
)

// Catch catches signals, except those that were ignored when we were started.
func Catch(to chan<- os.Signal, all []os.Signal) {
	signals.Notify(to, slices.DeleteFunc(all, signal.Ignored)...)
}

// Survive keeps us alive when standard error is a pipe without a reader, or a file at the
// limit of its size. It drops the signals, which are about ourselves. It catches them
// because the job would inherit an ignored signal.
func Survive() { signals.Drop(syscall.SIGPIPE, syscall.SIGXFSZ) }

// Stops returns a channel that receives the signal of Ctrl-Z.
func Stops() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	Catch(c, []os.Signal{syscall.SIGTSTP})
	return c
}

// Stop stops this process, and returns when it is continued. It waits for SIGCONT, because
// SIGSTOP takes a moment to reach all threads.
func Stop() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if syscall.Kill(os.Getpid(), syscall.SIGSTOP) == nil {
		<-continued
	}
}
