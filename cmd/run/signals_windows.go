package run

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/leaderrun/leaderrun/runner"
)

// A listener catches the signals that end us.
type listener struct {
	caught chan os.Signal
	ready  chan struct{} // closed, because they are caught
}

func listen() *listener {
	l := &listener{caught: make(chan os.Signal, 64), ready: make(chan struct{})}
	signal.Notify(l.caught, os.Interrupt, syscall.SIGTERM)
	close(l.ready)
	return l
}

// terminal returns nil: a console needs no sharing with the job.
func (l *listener) terminal() runner.Terminal { return nil }

// rest does nothing: there are no other signals.
func (l *listener) rest() {}
