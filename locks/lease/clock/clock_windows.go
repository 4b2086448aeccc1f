package clock

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// QueryInterruptTimePrecise counts 100 ns units since the start, time in sleep
// and hibernation included; the "unbiased" variant leaves that out.
var queryInterruptTime = windows.NewLazySystemDLL("kernelbase.dll").NewProc("QueryInterruptTimePrecise")

func bootNow() Instant {
	var t uint64
	_, _, _ = queryInterruptTime.Call(uintptr(unsafe.Pointer(&t))) // it has no result
	return Instant(t * 100)
}
