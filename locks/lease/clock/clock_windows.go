package clock

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// QueryInterruptTimePrecise counts units of 100 ns since the start, including time in
// sleep and hibernation. The "unbiased" variant leaves that out.
var queryInterruptTime = windows.NewLazySystemDLL("kernelbase.dll").NewProc("QueryInterruptTimePrecise")

func bootNow() Instant {
	var t uint64
	_, _, _ = queryInterruptTime.Call(uintptr(unsafe.Pointer(&t))) // no result
	return Instant(t * 100)
}
