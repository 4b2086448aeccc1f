package proc

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// An Object is a Job Object. Processes that its processes start are in it as well, and
// none can leave it. One process may be in several objects, each within another.
type Object windows.Handle

// Killed is the exit status of a process that was killed, as in a unix shell.
const Killed = 137

// NewObject makes an empty object. Processes that we start can inherit its handle.
func NewObject() (Object, error) {
	h, err := windows.CreateJobObject(inheritable(), nil)
	return Object(h), os.NewSyscallError("CreateJobObject", err)
}

// Enclose puts us, and all processes that we start later, into an object to which only we
// have a handle. However we die, the system then closes the handle, which kills all
// processes in the object.
func Enclose() error {
	h, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return os.NewSyscallError("CreateJobObject", err)
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(h, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return os.NewSyscallError("SetInformationJobObject", err)
	}
	return os.NewSyscallError("AssignProcessToJobObject", windows.AssignProcessToJobObject(h, windows.CurrentProcess()))
}

// Kill kills all processes in the object. It does not wait.
func (o Object) Kill() error {
	return os.NewSyscallError("TerminateJobObject", windows.TerminateJobObject(windows.Handle(o), Killed))
}

// Empty reports whether no process is in the object.
func (o Object) Empty() (bool, error) {
	var a accounting
	err := windows.QueryInformationJobObject(windows.Handle(o), windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	return err == nil && a.active == 0, os.NewSyscallError("QueryInformationJobObject", err)
}

// Close closes the handle. The processes in the object continue.
func (o Object) Close() { _ = windows.CloseHandle(windows.Handle(o)) }

// An accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	times     [4]int64
	faults    uint32
	processes uint32
	active    uint32
	ended     uint32
}

func inheritable() *windows.SecurityAttributes {
	a := &windows.SecurityAttributes{InheritHandle: 1}
	a.Length = uint32(unsafe.Sizeof(*a))
	return a
}
