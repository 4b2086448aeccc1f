package cmd

import (
	"bytes"
	"os"
	"strconv"
	"unsafe"
)

// overwrite fills the memory of a string with "x", if it is part of the
// argument vector that the kernel shows to others. Go's os.Args share that
// memory, but strings from elsewhere may be read-only.
func overwrite(s string) {
	start, end := argvRange()
	at := uintptr(unsafe.Pointer(unsafe.StringData(s)))
	if at < start || at+uintptr(len(s)) > end {
		return
	}
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	for i := range b {
		b[i] = 'x'
	}
}

// argvRange returns where the kernel keeps the argument vector: fields 48 and
// 49 of proc_pid_stat(5). It is empty if that cannot be told.
func argvRange() (start, end uintptr) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // from field 3 on
	if len(fields) < 49-2 {
		return 0, 0
	}
	first, err1 := strconv.ParseUint(string(fields[48-3]), 10, 64)
	last, err2 := strconv.ParseUint(string(fields[49-3]), 10, 64)
	if err1 != nil || err2 != nil {
		return 0, 0
	}
	return uintptr(first), uintptr(last)
}
