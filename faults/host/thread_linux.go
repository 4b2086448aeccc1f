package host

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A thread is an operating system thread for one host. It can be in another network
// namespace than the rest of the process, and so are the processes that it starts and
// the sockets that it makes. It lasts as long as the host, so the processes that it
// starts can have a parent-death signal, which is tied to the thread that forks
// (golang/go#27505).
type thread struct {
	calls chan func()
	done  chan struct{}
}

func newThread() *thread {
	t := &thread{calls: make(chan func()), done: make(chan struct{})}
	locked := make(chan struct{})
	go t.run(locked)
	<-locked
	return t
}

// run makes calls on a thread that nobody else uses. This goroutine stays locked to it,
// so the runtime ends the thread with the goroutine.
//
// The process's first thread is not used, because /proc/PID/ns shows the namespaces of
// the first thread.
func (t *thread) run(locked chan struct{}) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		go t.run(locked) // on another one, as this one is taken
		<-locked
		runtime.UnlockOSThread()
		return
	}
	close(locked)
	defer close(t.done)
	for f := range t.calls {
		f()
	}
}

// do calls f on the thread, and waits for it.
func (t *thread) do(f func() error) error {
	err := make(chan error, 1)
	t.calls <- func() { err <- f() }
	return <-err
}

// end ends the thread. Nothing may be called on it after that.
func (t *thread) end() {
	close(t.calls)
	<-t.done
}
