package file

import (
	"os"
	"slices"
	"sync"
)

// A waiter is a thread that waits for the lock of a file. It cannot be interrupted. So who gives up
// parks it for the next one in this process who waits for that file: otherwise a run that waits
// again and again would have more and more threads.
type waiter struct {
	file   *os.File
	locked chan error // receives one value, unless it is parked then
	parked bool       // nobody wants the lock; guarded by parked.mu
}

// parked are the waiters that nobody uses, by the path.
var parked = struct {
	mu sync.Mutex
	at map[string][]*waiter
}{at: map[string][]*waiter{}}

// await returns the waiter for a file. It takes over the file, or closes it if a waiter was parked.
func await(path string, f *os.File) *waiter {
	parked.mu.Lock()
	defer parked.mu.Unlock()
	for _, w := range parked.at[path] {
		if same(w.file, f) {
			w.unpark(path)
			_ = f.Close() // nothing was written
			return w
		}
	}
	w := &waiter{file: f, locked: make(chan error, 1)}
	go w.run(path)
	return w
}

func (w *waiter) run(path string) {
	err := waitLock(w.file)
	parked.mu.Lock()
	defer parked.mu.Unlock()
	if !w.parked {
		w.locked <- err
		return
	}
	w.unpark(path)
	_ = w.file.Close() // gives the lock back
}

// park leaves the waiter to the next one.
func (w *waiter) park(path string) {
	parked.mu.Lock()
	defer parked.mu.Unlock()
	if len(w.locked) > 0 {
		_ = w.file.Close() // gives the lock back
		return
	}
	w.parked, parked.at[path] = true, append(parked.at[path], w)
}

// unpark is called with parked.mu held.
func (w *waiter) unpark(path string) {
	w.parked = false
	left := slices.DeleteFunc(parked.at[path], func(other *waiter) bool { return other == w })
	if parked.at[path] = left; len(left) == 0 {
		delete(parked.at, path)
	}
}

func same(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}
