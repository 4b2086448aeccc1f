//go:build bench && linux && (amd64 || arm64)

// Stamp is the job of the hand-over benchmark. It appends to $STAMP_FILE when it began
// and when it ended, as two little-endian numbers of nanoseconds on the boot clock, and
// ends. If there is a $STAMP_GATE, it waits in between until somebody has opened that
// FIFO for writing and closed it again; if $STAMP_HOLD is not empty, for that time.
//
// The first time is that of its first instruction (see entry), because the Go runtime
// takes longer to reach main than a good hand-over takes in total. Build it with -ldflags
// '-E main.entry'.
package main

import (
	"encoding/binary"
	"syscall"
	"time"
	"unsafe"
)

// began is the time that entry has read.
var began syscall.Timespec

// entry reads the boot clock into began and continues with the Go runtime.
func entry() //nolint:unused // the linker uses it

func main() {
	if gate, ok := syscall.Getenv("STAMP_GATE"); ok {
		wait(gate)
	}
	if hold, _ := syscall.Getenv("STAMP_HOLD"); hold != "" {
		d, err := time.ParseDuration(hold)
		check(err)
		time.Sleep(d)
	}
	path, _ := syscall.Getenv("STAMP_FILE")
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_APPEND, 0)
	check(err)
	var record [16]byte
	binary.LittleEndian.PutUint64(record[:8], uint64(began.Nano()))
	binary.LittleEndian.PutUint64(record[8:], uint64(now()))
	_, err = syscall.Write(fd, record[:])
	check(err)
	syscall.Exit(0)
}

func wait(fifo string) {
	fd, err := syscall.Open(fifo, syscall.O_RDONLY, 0)
	check(err)
	_, err = syscall.Read(fd, make([]byte, 1))
	check(err)
}

func now() int64 {
	const clockBoottime = 7
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		check(errno)
	}
	return ts.Nano()
}

func check(err error) {
	if err != nil {
		syscall.Exit(3)
	}
}
