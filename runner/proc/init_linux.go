package proc

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// BeInit does what the system leaves to its first process, if that is what we
// are, as in a container: it reaps what nobody else does, also what was our child
// before we were leaderrun. It returns at once.
func BeInit() {
	if os.Getpid() != 1 {
		return
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	ended <- syscall.SIGCHLD // some may have ended before
	go func() {
		for range ended {
			time.Sleep(time.Second) // what somebody waits for is reaped by then
			_, _ = Tree{}.Reap()
		}
	}()
}
