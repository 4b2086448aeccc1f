package guard_test

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// leave ends a guard. It avoids the race detector's sleep of a second, because a guard's
// environment lacks noDelay.
func leave(status int) {
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(status), 0, 0)
}

// hold is a job with so much memory that the kernel takes time to free it. The race detector
// must not know the memory, or it would need twice as much itself.
func hold(size int) {
	if _, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE); err != nil {
		os.Exit(1)
	}
	ready()
	time.Sleep(time.Hour)
}

// ready tells the test that the job runs, as the shell scripts in hardy do.
func ready() {
	if os.WriteFile(os.Getenv("D")+"/ready", []byte("ready\n"), 0o600) != nil {
		os.Exit(1)
	}
}

// relay is a job in which each process starts the next one in its own session and ends: a new
// one every 200 µs, 10,000 at most. A Go process that was forked without exec can only make
// system calls.
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

// daemons is a job that has started a thousand processes, each in its own session, that do
// nothing.
//
//go:norace
func daemons() {
	runtime.LockOSThread()
	for range 1000 {
		switch pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0); {
		case errno != 0:
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 1, 0, 0)
		case pid == 0:
			syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
			for {
				syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
	}
	ready()
	time.Sleep(time.Hour)
}

// threadsVariable is in the environment of a process whose guard ends threads.
const threadsVariable = "GUARD_TEST_THREADS"

// endThreads makes a guard end threads as fast as it can, if its test wants that. The guard
// reads the environment of its parent, because its own lacks the variable.
func endThreads() {
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
	if !bytes.Contains(env, []byte(threadsVariable+"=1")) {
		return
	}
	go func() {
		for {
			var one sync.WaitGroup
			one.Go(runtime.LockOSThread) // so the thread ends with the goroutine
			one.Wait()
		}
	}()
}

// greedy is a job that takes all available tasks, and goes on trying to get more.
//
//go:norace
func greedy() {
	signal.Ignore(syscall.SIGTERM)
	runtime.LockOSThread()
	pause := &syscall.Timespec{Nsec: 1_000_000}
	for met := false; ; {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		switch {
		case errno != 0:
			if !met {
				ready()
			}
			met = true
			syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(pause)), 0, 0)
		case pid == 0:
			for {
				syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
	}
}

// headless is a job whose first thread has ended. It looks like a zombie.
func headless() {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() { // the rest must run in the first thread
		_ = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
		os.Exit(1)
	}
	pid := os.Getpid()
	go func() {
		for state := ""; state != "Z"; state, _, _, _ = stat(pid) {
			time.Sleep(time.Millisecond)
		}
		readyAs(pid)
		time.Sleep(time.Hour)
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// hidden is a job that only root can see, if /proc is mounted with hidepid.
func hidden() {
	signal.Ignore(syscall.SIGTERM)
	if unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) != nil {
		os.Exit(1)
	}
	readyAs(os.Getpid())
	time.Sleep(time.Hour)
}

// readyAs is like ready, and also tells the test the id of a process.
func readyAs(pid int) {
	if os.WriteFile(os.Getenv("D")+"/pid", fmt.Appendln(nil, pid), 0o600) != nil {
		os.Exit(1)
	}
	ready()
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
	"stopped":        `setsid $DEAF & while ! test -s $D/ready; do sleep 0.01; done; kill -STOP $(cat $D/pid) $$`,
	"big":            `GUARD_TEST_ROLE=big exec $SELF`,
	"first thread":   `GUARD_TEST_ROLE=headless exec $SELF`,
	"other thread":   `GUARD_TEST_ROLE=headless setsid $SELF & while :; do sleep 1; done`,
	"flapping":       `(while :; do kill -STOP $$; sleep 0.01; kill -CONT $$; sleep 0.01; done) & exec $DEAF`,
}
