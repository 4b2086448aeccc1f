// Package threads makes Go start its threads in advance. Go starts one whenever a
// goroutine can run and all other threads are in system calls, and aborts the process if
// it cannot, because of a limit that a job may hit at any time. But we must survive that.
//
// Other starts fail where there is no room for a task, and can be repeated; see [ErrOut].
package threads

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// ErrOut is why a process was not started, or has ended before it could work: a limit of
// tasks, which are the threads of all processes, was reached. There may be room again soon.
var ErrOut = errors.New("the machine is out of tasks (threads, processes)")

// Refused returns why the system has not started a process, which may be an [ErrOut].
func Refused(err error) error {
	if errors.Is(err, syscall.EAGAIN) {
		return fmt.Errorf("%w: %w", ErrOut, err)
	}
	return err
}

// Aborted reports whether a text is what the Go runtime, with or without cgo, says when it ends
// a process because it cannot start a thread.
func Aborted(text string) bool {
	return strings.Contains(text, "failed to create new OS thread") || strings.Contains(text, "pthread_create failed")
}

// A room is how many more tasks a limit allows.
type room struct {
	free, limit int
	of          string // whose limit it is
	file        string // one that all who have this limit can open
}

// ample is where no limit is near.
var ample = room{free: many, limit: many}

// Free returns how many more tasks are allowed. Limits that are far away are not counted
// exactly.
func Free() int { return look().free }

// many is more tasks than those of our programs need that start at one moment. Higher limits
// are not examined further.
const many = 1024

// Reserve starts additional threads, once. Go keeps them forever, and starts no more
// while they suffice. For that, no more than two threads run Go code at a time, however many
// processors the machine has: a garbage collection would use them all.
func Reserve(n int) {
	once.Do(func() {
		if runtime.GOMAXPROCS(0) > maxRunning {
			runtime.GOMAXPROCS(maxRunning)
		}
		reserve(n)
	})
}

const maxRunning = 2

var once sync.Once

func reserve(n int) {
	var made, all sync.WaitGroup
	made.Add(n)
	use := make(chan struct{})
	for range n {
		all.Go(func() {
			runtime.LockOSThread() // no other goroutine can use this thread now
			defer runtime.UnlockOSThread()
			made.Done()
			<-use
		})
	}
	made.Wait()
	close(use)
	all.Wait()
}
