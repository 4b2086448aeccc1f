// Package threads has Go make its threads in advance. Go makes one whenever a goroutine
// can run and all others are in system calls, and aborts the process if it cannot have
// it: because of a limit, which a job may meet at any time, while we must live on.
package threads

import (
	"runtime"
	"sync"
)

// spare are the threads that a core, a guard or a helper may need beside those that it
// has when its job starts.
const spare = 6

// many is more tasks than any program of ours needs. Limits that are higher are not looked
// at more closely.
const many = 512

// Reserve makes threads beside those that are busy, once. Go keeps them for ever, and makes
// no more as long as they will do.
var Reserve = sync.OnceFunc(func() { reserve(spare) })

func reserve(n int) {
	var made, all sync.WaitGroup
	made.Add(n)
	use := make(chan struct{})
	for range n {
		all.Go(func() {
			runtime.LockOSThread() // nobody else can have it now
			defer runtime.UnlockOSThread()
			made.Done()
			<-use
		})
	}
	made.Wait()
	close(use)
	all.Wait()
}
