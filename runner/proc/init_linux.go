package proc

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// BeInit reaps the children that nobody else reaps, if we are the first process, as in a
// container. They include children from before we were leaderrun. It returns at once.
func BeInit() {
	if os.Getpid() != 1 {
		return
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	ended <- syscall.SIGCHLD // some children may have ended before
	go func() {
		for range ended {
			time.Sleep(time.Second) // whoever waits for the child has reaped it by then
			_, _ = Tree{}.Reap()
		}
	}()
}
