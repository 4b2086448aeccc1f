//go:build amd64 || arm64

package signals

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/signals/action"
)

// Package os/signal takes two thread switches for each signal that it begins to catch, and
// keeps two threads. So we have handlers of our own, in assembly, which need nothing of the Go
// runtime: forward writes the number of the signal to a pipe, and drop does nothing. They run
// as the runtime's handlers do: on its signal stacks, and with all signals blocked.
//
// Processes that we start inherit no handler: it is reset when a program is executed. Until
// then a new process may write to the pipe as well, as if we had got its signal.

// The addresses of the handlers. The assembler sets them.
var forward, drop uintptr

// pipe is the descriptor that forward writes to.
var pipe int32

// caught is what becomes of the signals that were forwarded.
var caught struct {
	start   sync.Once
	failed  bool // there is no pipe
	mu      sync.Mutex
	to      [last + 1][]chan<- os.Signal
	flushed chan struct{} // receives the zeros from the pipe
}

// Notify is like signal.Notify. An empty list means none.
func Notify(c chan<- os.Signal, all ...os.Signal) {
	caught.start.Do(start)
	caught.mu.Lock()
	defer caught.mu.Unlock()
	blocked := mask()
	for _, sig := range all {
		s := sig.(syscall.Signal)
		if caught.failed || blocked.has(s) {
			signal.Notify(c, s) // in a thread of its own that does not block it
			action.Restore(s)
			continue
		}
		if !slices.Contains(caught.to[s], c) {
			caught.to[s] = append(caught.to[s], c)
		}
		handle(s, forward)
	}
}

// Stop is like signal.Stop: when it returns, c has received all signals that had arrived.
func Stop(c chan<- os.Signal) {
	signal.Stop(c)
	if caught.start.Do(start); caught.failed {
		return
	}
	if _, err := unix.Write(int(pipe), []byte{0}); err == nil { // else it is full of signals
		<-caught.flushed
	}
	caught.mu.Lock()
	defer caught.mu.Unlock()
	for s, to := range caught.to {
		caught.to[s] = slices.DeleteFunc(to, func(to chan<- os.Signal) bool { return to == c })
	}
}

// Drop catches signals and does nothing with them. Processes that we start do not inherit
// that.
func Drop(all ...os.Signal) {
	for _, sig := range all {
		if sig == syscall.SIGPIPE {
			signal.Ignore(sig) // or package os would end us when a write fails
		}
		handle(sig.(syscall.Signal), drop)
	}
}

// handle sets the handler of a signal.
func handle(sig syscall.Signal, handler uintptr) {
	a, _ := action.Of(syscall.SIGURG) // the runtime handles it
	*a.Handler() = handler
	a.Set(sig)
}

// A set is a set of signals, as the kernel has it.
type set unix.Sigset_t

func (s set) has(sig syscall.Signal) bool { return s.Val[0]&(1<<(sig-1)) != 0 }

// mask returns the signals that were blocked when we were started: they are blocked in all
// threads.
func mask() (all set) {
	_ = unix.PthreadSigmask(unix.SIG_BLOCK, nil, (*unix.Sigset_t)(&all))
	return all
}

// Poll catches signals in a process that does not call Notify, and needs no goroutine for that.
// It returns a descriptor that has a byte for each signal that has arrived.
func Poll(all ...os.Signal) (fd int, err error) {
	if fd, err = openPipe(); err != nil {
		return -1, err
	}
	for _, sig := range all {
		handle(sig.(syscall.Signal), forward)
	}
	return fd, nil
}

func openPipe() (fd int, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return -1, err
	}
	pipe = int32(ends[1])
	return ends[0], nil
}

func start() {
	fd, err := openPipe()
	if err != nil {
		caught.failed = true
		return
	}
	caught.flushed = make(chan struct{})
	go deliver(os.NewFile(uintptr(fd), "signals"))
}

// deliver sends what arrives to those who want it. It never ends.
func deliver(pipe *os.File) {
	var arrived [64]byte
	for {
		n, err := pipe.Read(arrived[:])
		if err != nil {
			return
		}
		for _, s := range arrived[:n] {
			send(syscall.Signal(s))
		}
	}
}

func send(s syscall.Signal) {
	if s == 0 {
		caught.flushed <- struct{}{}
		return
	}
	caught.mu.Lock()
	defer caught.mu.Unlock()
	for _, c := range caught.to[s] {
		select {
		case c <- s:
		default: // as package os/signal does
		}
	}
}
