package guard_test

import (
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// hold is a job that has so much memory that the kernel needs time to free it.
func hold(size int) {
	all := make([]byte, size)
	for i := 0; i < len(all); i += os.Getpagesize() {
		all[i] = 1
	}
	ready()
	time.Sleep(time.Hour)
	runtime.KeepAlive(all)
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

// hardy are jobs that are hard to kill.
var hardy = map[string]string{
	"deaf":           `exec $DEAF`,
	"other sessions": `setsid $DEAF & setsid setsid sleep 1000 & while :; do sleep 1; done`,
	"first ended":    `setsid $DEAF & while ! test -e $D/ready -a -e $D/seen; do sleep 0.01; done`,
	"daemon":         `(setsid sh -c "$DEAF & exit" &); while :; do sleep 1; done`,
	"bare":           `exec env -i setsid $DEAF <&- >&- 2>&-`,
	"relay":          `GUARD_TEST_ROLE=relay exec $SELF`,
	"forks":          `echo ready >$D/ready; n=0; while test $((n += 1)) -lt 10000; do setsid sleep 0.02 & setsid sh -c : & setsid sleep 0.01 & wait; done`,
	"stopped":        `setsid $DEAF & while ! test -e $D/pid; do sleep 0.01; done; kill -STOP $(cat $D/pid) $$`,
	"big":            `GUARD_TEST_ROLE=big exec $SELF`,
}
