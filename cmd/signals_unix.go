//go:build unix

package cmd

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/terminal"
)

const defaultSignal = syscall.SIGTERM

// A signalValue is a signal by name or number: TERM, SIGTERM, 15.
type signalValue struct{ os.Signal }

func (s *signalValue) Set(v string) error {
	if n, err := strconv.Atoi(v); err == nil && unix.SignalName(syscall.Signal(n)) != "" {
		s.Signal = syscall.Signal(n)
		return nil
	}
	name := "SIG" + strings.TrimPrefix(strings.ToUpper(v), "SIG")
	n := unix.SignalNum(name)
	if n == 0 {
		return fmt.Errorf("%s is no signal like TERM or 15", quote(v))
	}
	s.Signal = n
	return nil
}

func (s *signalValue) String() string {
	if sig, ok := s.Signal.(syscall.Signal); ok {
		return strings.TrimPrefix(unix.SignalName(sig), "SIG")
	}
	return ""
}

// signals are the names of those that can be chosen.
func signals() []string {
	var names []string
	for n := syscall.Signal(1); n < 32; n++ {
		if name := unix.SignalName(n); name != "" {
			names = append(names, strings.TrimPrefix(name, "SIG"))
		}
	}
	return names
}

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
		catch(l.caught, []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT,
			syscall.SIGUSR1, syscall.SIGUSR2})
		survive()
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
	catch(l.caught, others)
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
	catch(l.caught, slices.DeleteFunc(all, terminal.Ignored))
}

// catch catches signals, but for those that we were started with ignored.
func catch(to chan<- os.Signal, all []os.Signal) {
	all = slices.DeleteFunc(all, signal.Ignored)
	if len(all) > 0 { // none would mean every signal
		signal.Notify(to, all...)
	}
}

// survive keeps us alive when what we write to goes away or is full: standard
// error that is a closed pipe, a file at the limit of its size. The signals are
// about ourselves, and are dropped. They are caught rather than ignored, as the
// job would inherit that.
func survive() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGXFSZ) }

// endings are the signals by which a user ends a program.
func endings() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
}
