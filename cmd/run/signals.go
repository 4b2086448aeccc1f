package run

import (
	"os"
	"slices"
	"syscall"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/signals"
	"github.com/leaderrun/leaderrun/runner/terminal"
)

// A listener catches the signals that we pass on to the job. These are all that can be
// caught, except those about ourselves (our children, our faults, our reading and writing)
// and those that the Go runtime uses. If HUP or INT was ignored when we were started, as by
// nohup(1), it stays ignored, and the job ignores it as well.
//
// Signals that stop a process are not caught until there is a job: Ctrl-Z while we wait
// stops us like any program. Without a terminal TTIN and TTOU are caught earlier: some
// programs take them for commands, and such a command must not stop a waiter.
//
// All others are caught before anything is started, so that none is lost.
type listener struct {
	caught chan os.Signal
}

func listen() *listener {
	l := &listener{caught: make(chan os.Signal, 64)}
	var all []os.Signal
	for n := syscall.Signal(1); n < 32; n++ {
		switch n {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPIPE, syscall.SIGXFSZ,
			syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS,
			syscall.SIGPROF, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
		default:
			all = append(all, n)
		}
	}
	env.Catch(l.caught, append(all, signals.Realtime()...))
	if tty := terminal.Open(); tty != nil {
		tty.Close()
	} else {
		l.catchStops(syscall.SIGTTIN, syscall.SIGTTOU)
	}
	signals.IgnoreRTMIN()
	env.Survive()
	return l
}

// ended returns a *[runner.SignalError] if a signal that ends us was caught. It drops the others,
// because there is no job to pass them to. A nil listener has caught none.
func (l *listener) ended() error {
	for l != nil {
		select {
		case sig := <-l.caught:
			if signals.Ending(sig) {
				return &runner.SignalError{Signal: sig}
			}
		default:
			return nil
		}
	}
	return nil
}

// terminal catches the signals that stop a process, and returns the terminal that we were
// started on, or nil. Without a terminal only TSTP is left to be caught.
func (l *listener) terminal() runner.Terminal {
	tty := terminal.Open()
	if tty == nil {
		l.catchStops(syscall.SIGTSTP)
		return nil
	}
	l.catchStops(syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT)
	return tty
}

func (l *listener) catchStops(all ...os.Signal) {
	env.Catch(l.caught, slices.DeleteFunc(all, signals.Ignored))
}
