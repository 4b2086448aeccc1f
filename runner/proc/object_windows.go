package proc

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

func setLimits(object windows.Handle, limits *windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION) error {
	_, err := windows.SetInformationJobObject(object, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(limits)), uint32(unsafe.Sizeof(*limits)))
	return err
}

// An accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	times     [4]int64
	faults    uint32
	processes uint32
	active    uint32
	ended     uint32
}

func activeProcesses(object windows.Handle) (uint32, error) {
	var a accounting
	err := windows.QueryInformationJobObject(object, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	return a.active, err
}
