// Package threads makes Go start its threads in advance. Go starts one whenever a
// goroutine can run and all other threads are in system calls, and aborts the process if
// it cannot, because of a limit that a job may hit at any time. But we must survive that.
package threads

import (
	"runtime"
	"sync"
)

// spare is how many threads a core, a guard or a helper may need in addition to those
// that it has when its job starts.
const spare = 6

// many is more tasks than any program of ours needs. Higher limits are not examined
// further.
const many = 512

// Reserve starts additional threads, once. Go keeps them forever, and starts no more
// while they suffice.
var Reserve = sync.OnceFunc(func() { reserve(spare) })

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
