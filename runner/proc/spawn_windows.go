package proc

import (
	"os"
	"strings"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

// jobList is PROC_THREAD_ATTRIBUTE_JOB_LIST of Windows 10.
const jobList = 0x0002000d

// Spawn starts a command in objects, each within the one before. The command is in them
// from its first instruction. Package syscall cannot do that: its processes would be
// outside for a moment, in which they could start others. The command has its own process
// group, which can receive CTRL_BREAK. It inherits our standard streams, except as NoInput
// says, and no other handle.
func Spawn(c Command, in ...Object) (process windows.Handle, pid int, err error) {
	list, err := windows.NewProcThreadAttributeList(2)
	if err != nil {
		return 0, 0, err
	}
	defer list.Delete()
	var s windows.StartupInfoEx
	s.Cb, s.Flags = uint32(unsafe.Sizeof(s)), windows.STARTF_USESTDHANDLES
	handles := streams(&s.StartupInfo, c.NoInput)
	defer closeAll(handles)
	if err := list.Update(jobList, unsafe.Pointer(&in[0]), uintptr(len(in))*unsafe.Sizeof(in[0])); err != nil {
		return 0, 0, err
	}
	if len(handles) > 0 {
		err := list.Update(windows.PROC_THREAD_ATTRIBUTE_HANDLE_LIST, unsafe.Pointer(&handles[0]), uintptr(len(handles))*unsafe.Sizeof(handles[0]))
		if err != nil {
			return 0, 0, err
		}
	}
	s.ProcThreadAttributeList = list.List()

	path, err := windows.UTF16PtrFromString(c.Path)
	if err != nil {
		return 0, 0, err
	}
	line, err := windows.UTF16PtrFromString(windows.ComposeCommandLine(c.Args))
	if err != nil {
		return 0, 0, err
	}
	env, err := environmentBlock(c.Env)
	if err != nil {
		return 0, 0, err
	}
	const flags = windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_UNICODE_ENVIRONMENT | windows.EXTENDED_STARTUPINFO_PRESENT
	var p windows.ProcessInformation
	if err := windows.CreateProcess(path, line, nil, nil, len(handles) > 0, flags, &env[0], nil, &s.StartupInfo, &p); err != nil {
		return 0, 0, err
	}
	_ = windows.CloseHandle(p.Thread)
	return p.Process, int(p.ProcessId), nil
}

// streams sets the standard streams of a process to ours or, with noInput, its input to the
// null device. It returns the handles that it makes. Streams may be missing.
func streams(s *windows.StartupInfo, noInput bool) (made []windows.Handle) {
	to := []*windows.Handle{&s.StdInput, &s.StdOutput, &s.StdErr}
	from := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	if noInput {
		from[0], _ = os.Open(os.DevNull) // nil if that fails: then there is no input either
		defer func() { _ = from[0].Close() }()
	}
	for i, f := range from {
		if f == nil || f.Fd() == 0 {
			continue
		}
		us := windows.CurrentProcess()
		if windows.DuplicateHandle(us, windows.Handle(f.Fd()), us, to[i], 0, true, windows.DUPLICATE_SAME_ACCESS) == nil {
			made = append(made, *to[i])
		}
	}
	return made
}

func closeAll(handles []windows.Handle) {
	for _, h := range handles {
		_ = windows.CloseHandle(h)
	}
}

// environmentBlock returns an environment as the system takes it: a zero ends each text, and
// another zero ends the block.
func environmentBlock(env []string) (block []uint16, err error) {
	for _, v := range env {
		if strings.ContainsRune(v, 0) {
			return nil, windows.ERROR_INVALID_PARAMETER
		}
		block = append(block, utf16.Encode([]rune(v))...)
		block = append(block, 0)
	}
	if len(block) == 0 {
		block = []uint16{0}
	}
	return append(block, 0), nil
}
