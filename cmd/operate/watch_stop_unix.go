//go:build unix

package operate

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/leaderrun/leaderrun/cmd/env"
)

// stops gets a value when we are to stop: Ctrl-Z.
func stops() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	env.Catch(c, []os.Signal{syscall.SIGTSTP})
	return c
}

// stop stops us, and returns when we are continued. The signal alone would not do:
// it takes a moment to reach all threads.
func stop() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if syscall.Kill(os.Getpid(), syscall.SIGSTOP) == nil {
		<-continued
	}
}
