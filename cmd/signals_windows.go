package cmd

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/leaderrun/leaderrun/runner"
)

// A listener catches the signals that end us.
type listener struct {
	caught chan os.Signal
	ready  chan struct{} // closed: they are caught
}

func listen() *listener {
	l := &listener{caught: make(chan os.Signal, 64), ready: make(chan struct{})}
	signal.Notify(l.caught, os.Interrupt, syscall.SIGTERM)
	close(l.ready)
	return l
}

// terminal returns nil: what a console is to a job needs no sharing.
func (l *listener) terminal() runner.Terminal { return nil }

// rest does nothing: there are no others.
func (l *listener) rest() {}

// endings are the signals by which a user ends a program.
func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

func catch(to chan<- os.Signal, all []os.Signal) { signal.Notify(to, all...) }

// survive has nothing to do: no signal comes when what we write to goes away.
func survive() {}
