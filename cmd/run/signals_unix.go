//go:build unix

package run

import (
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/signals"
	"github.com/leaderrun/leaderrun/runner/terminal"
)

// A listener catches the signals that the job gets when we are sent them: all
// that can be caught, but for those that tell of ourselves (our children, our
// faults, our reading and writing) and those that the Go runtime uses. HUP or
// INT that we were started with ignored, as by nohup(1), stays ignored, by the
// job too.
//
// Those that stop a process are left alone until there is a job: Ctrl-Z while we
// wait stops us like any program.
//
// Catching a signal costs a dance of two threads, and all of them some 0.7 ms.
// So it is done beside other things, and only those that end us, or that a job
// may wait for, are caught before there is a job or somebody to wait for. The
// runtime drops the others until then.
type listener struct {
	caught chan os.Signal
	ready  chan struct{} // closed when the first ones are caught
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

// rest has the others caught soon, too. It does not block.
func (l *listener) rest() { go l.once.Do(l.catchRest) }

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
	signals.Withstand()
	env.Catch(l.caught, append(others, signals.Realtime()...))
}

// terminal has the signals that stop a process caught, and returns the terminal
// that we were started on, or nil. Off a terminal TSTP alone is one to be passed
// on, and to catch it delays nothing.
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
