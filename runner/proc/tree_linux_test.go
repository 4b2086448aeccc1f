package proc

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A family is a child of ours, a grandchild in its own session, and an orphan that we have
// adopted.
type family struct {
	child              *exec.Cmd
	grandchild, orphan int
}

const sleeper = `setsid sh -c 'echo $$; exec sleep 1000' & wait`

// newFamily starts a family. Its members end with the test.
func newFamily(t *testing.T) family {
	t.Helper()
	AdoptOrphans()
	var f family
	f.child, f.grandchild = spawn(t, sleeper)
	parent, orphan := spawn(t, sleeper)
	f.orphan = orphan
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	eventually(t, "the orphan is ours", func() bool { return look(t, orphan).parent == os.Getpid() })
	return f
}

// spawn starts a shell command that prints a process id. Both processes end with the test.
func spawn(t *testing.T, text string) (*exec.Cmd, int) {
	t.Helper()
	c := exec.Command("sh", "-c", text)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 20)
	n, _ := out.Read(line)
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	p := look(t, pid)
	t.Cleanup(func() {
		p.signal([]unix.Signal{unix.SIGKILL})
		_ = c.Process.Kill()
		_ = c.Wait()
		_, _ = unix.Wait4(pid, nil, 0, nil) // if it is our child
	})
	return c, pid
}

func look(t *testing.T, pid int) process {
	t.Helper()
	p, err := readProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// Both ways to find the tree find all of its processes, and none that is excluded.
func TestEach(t *testing.T) {
	f, kept := newFamily(t), newFamily(t)
	tree := Tree{Exclude: func(pid int, _ uint64) bool { return pid == kept.child.Process.Pid }}
	children := func(f func(process)) error { return tree.each(true, f) }
	for name, each := range map[string]func(func(process)) error{"children": children, "search": tree.search} {
		var got []int
		if err := each(func(p process) { got = append(got, p.pid) }); err != nil {
			t.Fatal(err)
		}
		for _, pid := range []int{f.child.Process.Pid, f.grandchild, f.orphan, kept.orphan} {
			if !slices.Contains(got, pid) {
				t.Errorf("%s: %d is not in %v", name, pid, got)
			}
		}
		for _, pid := range []int{kept.child.Process.Pid, kept.grandchild, os.Getpid(), os.Getppid()} {
			if slices.Contains(got, pid) {
				t.Errorf("%s: %d is in %v", name, pid, got)
			}
		}
	}
}

// A process whose parent ends while we look for the parent's children is found.
func TestOrphanedMeanwhile(t *testing.T) {
	AdoptOrphans()
	parent, child := spawn(t, sleeper)
	found := false
	err := Tree{}.each(false, func(p process) {
		if p.pid == parent.Process.Pid {
			_ = parent.Process.Kill()
			eventually(t, "the child is ours", func() bool { return look(t, child).parent == os.Getpid() })
		}
		found = found || p.pid == child
	})
	if err != nil || !found {
		t.Errorf("it was not found; the error is %v", err)
	}
}

// Signals reach all processes that are not excluded, and Reap returns 0 when none is left.
func TestSignalAndReap(t *testing.T) {
	f, kept := newFamily(t), newFamily(t)
	tree := Tree{Exclude: func(pid int, _ uint64) bool { return pid == kept.child.Process.Pid }}
	eventually(t, "nothing is left", func() bool {
		// One pass can miss a process that becomes ours just then, because its parent was killed.
		if _, err := tree.Signal(-1, false, unix.SIGKILL); err != nil {
			t.Error(err)
		}
		seen, err := tree.Reap()
		return seen == 0 && err == nil
	})
	for _, pid := range []int{f.child.Process.Pid, f.grandchild, f.orphan, kept.orphan} {
		if err := unix.Kill(pid, 0); err != unix.ESRCH {
			t.Errorf("%d is there: %v", pid, err)
		}
	}
	for _, pid := range []int{kept.child.Process.Pid, kept.grandchild} {
		if !look(t, pid).alive() {
			t.Errorf("%d, which is excluded, is dead", pid)
		}
	}
}

// A child that was just reaped may have left us another one. So Reap counts it.
func TestReapedIsSeen(t *testing.T) {
	c := exec.Command("true")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := c.Process.Pid
	eventually(t, "it has ended", func() bool { return !look(t, pid).alive() })
	tree := Tree{Exclude: func(kid int, _ uint64) bool { return kid != pid }}
	if seen, err := tree.Reap(); seen != 1 || err != nil {
		t.Errorf("got %d, %v; want 1", seen, err)
	}
	if seen, err := tree.Reap(); seen != 0 || err != nil {
		t.Errorf("got %d, %v; want 0", seen, err)
	}
	_ = c.Wait()
}

// A process that has the id of one that should be signalled is not signalled.
func TestReusedID(t *testing.T) {
	_, pid := spawn(t, sleeper)
	signalOnlyIt(t, pid)
}

// signalOnlyIt signals a process that has gone, which does nothing, and then the process that
// has its id.
func signalOnlyIt(t *testing.T, pid int) {
	t.Helper()
	p := look(t, pid)
	earlier := p
	earlier.started--
	earlier.signal([]unix.Signal{unix.SIGKILL})
	p.signal([]unix.Signal{unix.SIGSTOP}) // a process that was killed would not stop
	eventually(t, "it has stopped", func() bool { return look(t, pid).state == 'T' })
	p.signal([]unix.Signal{unix.SIGKILL})
	eventually(t, "it is dead", func() bool { q, err := readProcess(pid); return err != nil || !q.alive() })
}

// Processes choose their names.
func TestParseStat(t *testing.T) {
	t.Parallel()
	const rest = ` S 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 3 19 4711 21`
	for _, name := range []string{"sh", "a b", ") Z 1 1 (", "((", "\n"} {
		got, err := parseStat(7, []byte("7 ("+name+")"+rest))
		if want := (process{pid: 7, parent: 2, group: 3, state: 'S', threads: 3, started: 4711}); got != want || err != nil {
			t.Errorf("%q: got %+v, %v; want %+v", name, got, err, want)
		}
	}
	for _, line := range []string{"", "7 (sh)", "7 (sh) S 2 3", "7 (sh)" + strings.ReplaceAll(rest, "4711", "x")} {
		if _, err := parseStat(7, []byte(line)); err == nil {
			t.Errorf("%q: got no error", line)
		}
	}
}

// Without pidfds, signals are sent by process id.
func TestWithoutPidfds(t *testing.T) {
	if os.Getenv("PROC_TEST_LIMIT") == "" {
		alone(t)
		return
	}
	_, pid := spawn(t, sleeper)
	forbid(t, unix.SYS_PIDFD_OPEN, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)) // as container runtimes before 2020
	if _, err := unix.PidfdOpen(os.Getpid(), 0); err != unix.EPERM {
		t.Fatalf("pidfd_open: got %v, want EPERM", err)
	}
	signalOnlyIt(t, pid)
}

// Children finds a child whose end sends us no signal. Without children, it lists nothing.
func TestChildren(t *testing.T) {
	if os.Getenv("PROC_TEST_LIMIT") == "" {
		alone(t)
		return
	}
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, 0, 0, 0, 0, 0, 0)
	for pid == 0 {
		_, _, _ = syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
	if errno != 0 {
		t.Fatal(errno)
	}
	if got := Children(); len(got) != 1 || got[int(pid)] == 0 {
		t.Errorf("got %v, want %d and when it was started", got, pid)
	}
	_ = unix.Kill(int(pid), unix.SIGKILL)
	_, _ = unix.Wait4(int(pid), nil, unix.WALL, nil)
	forbid(t, unix.SYS_GETDENTS64, unix.SECCOMP_RET_KILL_PROCESS)
	if got := Children(); got == nil || len(got) != 0 {
		t.Errorf("got %v, want an empty list", got)
	}
}

// alone runs a test in a process of its own.
func alone(t *testing.T) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), "PROC_TEST_LIMIT=1")
	if out, err := c.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v: %s", err, out)
	}
}

// forbid has a system call end as a seccomp filter says.
func forbid(t *testing.T, call, how uint32) {
	t.Helper()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: how},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	_, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		t.Fatal(errno)
	}
}
