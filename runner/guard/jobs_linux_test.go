package guard_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// leave ends a guard. The race detector would sleep for a second first: a guard has
// an environment of its own, in which noDelay is not.
func leave(status int) {
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(status), 0, 0)
}

// hold is a job that has so much memory that the kernel needs time to free it. The
// race detector does not know of that memory, or would have twice as much itself.
func hold(size int) {
	if _, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE); err != nil {
		os.Exit(1)
	}
	ready()
	time.Sleep(time.Hour)
}

// ready tells the test that the job runs, as hardy does in the shell.
func ready() {
	if os.WriteFile(os.Getenv("D")+"/ready", []byte("ready\n"), 0o600) != nil {
		os.Exit(1)
	}
}

// relay is a job in which each process starts the next one, in a session of its
// own, and ends: a new one every 200 µs, 10,000 at most. A process of Go
// that was forked without exec can do no more than system calls.
//
//go:norace
func relay() {
	ready()
	runtime.LockOSThread()
	pause := &syscall.Timespec{Nsec: 200_000}
	for range 10_000 {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if pid != 0 || errno != 0 {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
		syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(pause)), 0, 0)
	}
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
}

// threadsVariable is in the environment of a process whose guard ends threads.
const threadsVariable = "GUARD_TEST_THREADS"

// endThreads has a guard begin to end threads as fast as it can, if that is for its
// test: a guard has an environment of its own, and so looks at that of its parent.
func endThreads() {
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
	if !bytes.Contains(env, []byte(threadsVariable+"=1")) {
		return
	}
	go func() {
		for {
			var one sync.WaitGroup
			one.Go(runtime.LockOSThread) // and so the thread ends with the goroutine
			one.Wait()
		}
	}()
}

// hardy are jobs that are hard to kill.
var hardy = map[string]string{
	"deaf":           `exec $DEAF`,
	"other sessions": `setsid $DEAF & setsid setsid sleep 1000 & while :; do sleep 1; done`,
	"first ended":    `setsid $DEAF & while ! test -e $D/ready; do sleep 0.01; done`,
	"daemon":         `(setsid sh -c "$DEAF & exit" &); while :; do sleep 1; done`,
	"bare":           `exec env -i setsid $DEAF <&- >&- 2>&-`,
	"relay":          `GUARD_TEST_ROLE=relay exec $SELF`,
	"forks":          `echo ready >$D/ready; n=0; while test $((n += 1)) -lt 10000; do setsid sleep 0.02 & setsid sh -c : & setsid sleep 0.01 & wait; done`,
	"stopped":        `setsid $DEAF & while ! test -e $D/pid; do sleep 0.01; done; kill -STOP $(cat $D/pid) $$`,
	"big":            `GUARD_TEST_ROLE=big exec $SELF`,
}
