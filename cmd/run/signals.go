package run

import (
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/locks"
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
// Catching a signal takes two thread switches, and catching all of them some 0.7 ms. So it
// is done concurrently with other things. Until there is a job, or a holder to wait for,
// only the signals are caught that end us or that a job may wait for, and the runtime drops
// the others.
type listener struct {
	runner.Unobserved

	caught chan os.Signal
	ready  chan struct{} // closed when the first signals are caught
	once   sync.Once
}

func listen() *listener {
	l := &listener{caught: make(chan os.Signal, 64), ready: make(chan struct{})}
	go func() {
		defer close(l.ready)
		env.Catch(l.caught, []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT,
			syscall.SIGUSR1, syscall.SIGUSR2})
		env.Survive()
	}()
	return l
}

// Waiting begins to catch the other signals.
func (l *listener) Waiting(locks.Waiting) { go l.once.Do(l.catchRest) }

// CampaignEnded does the same, and waits until the first signals are caught.
func (l *listener) CampaignEnded() {
	go l.once.Do(l.catchRest)
	<-l.ready
}

func (l *listener) catchRest() {
	var others []os.Signal
	for n := syscall.Signal(1); n < 32; n++ {
		switch n {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPIPE, syscall.SIGXFSZ,
			syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS,
			syscall.SIGPROF, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
		default:
			others = append(others, n)
		}
	}
	if tty := terminal.Open(); tty != nil {
		tty.Close()
	} else {
		l.catchStops(syscall.SIGTTIN, syscall.SIGTTOU)
	}
	signals.IgnoreRTMIN()
	env.Catch(l.caught, append(others, signals.Realtime()...))
}

// terminal catches the signals that stop a process, and returns the terminal that we were
// started on, or nil. Without a terminal nothing waits until they are caught.
func (l *listener) terminal() runner.Terminal {
	tty := terminal.Open()
	if tty == nil {
		go l.catchStops(syscall.SIGTSTP)
		return nil
	}
	l.catchStops(syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT)
	return tty
}

func (l *listener) catchStops(all ...os.Signal) {
	env.Catch(l.caught, slices.DeleteFunc(all, signals.Ignored))
}
