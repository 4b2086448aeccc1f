package cgroup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/proc/proctest"
)

// testPatience is how long tests wait for an event.
const testPatience = time.Minute

// The test binary is also a program that tests run in a role.
const roleVariable = "CGROUP_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		goleak.VerifyTestMain(m)
	case "relay":
		proctest.Relay()
	default:
		if err := play(role); err != nil {
			fmt.Println("error:", err)
		}
	}
}

// play makes a group, prints its path, and plays a role, while a test watches.
func play(role string) error {
	if id := os.Getenv("USER_ID"); id != "" {
		n, _ := strconv.Atoi(id)
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(n), syscall.Setuid(n)); err != nil {
			return err
		}
	}
	if role == "sandboxed" {
		if err := forbid(unix.SYS_CLONE3); err != nil {
			return err
		}
	}
	before := descriptors()
	home := Find()
	if role == "moved" {
		if err := os.WriteFile(os.Getenv("TO")+"/cgroup.procs", []byte("0"), 0); err != nil {
			return err
		}
	}
	g, err := home.New()
	if err != nil {
		if n := descriptors(); n != before {
			return fmt.Errorf("%d descriptors are left", n-before)
		}
		return err
	}
	fmt.Println(g.Path())
	switch role {
	case "abandon":
		return nil
	case "abandon with a job":
		return inGroup(g, "exec sleep 60").Start()
	case "hold":
		_, err := os.Stdin.Read(make([]byte, 1))
		return err
	case "exhausted":
		return errors.Join(useUp(g), g.Remove())
	}
	out, err := inGroup(g, "cat /proc/self/cgroup").CombinedOutput()
	if !strings.Contains(string(out), filepath.Base(g.Path())+"\n") {
		err = fmt.Errorf("the job ran elsewhere: %s %w", out, err)
	}
	err = errors.Join(err, g.Remove())
	if n := descriptors(); n != before {
		return fmt.Errorf("%d descriptors are left: %w", n-before, err)
	}
	return err
}

// useUp kills a job while no descriptor is left.
func useUp(g *Group) error {
	c := inGroup(g, "exec sleep 60")
	if err := c.Start(); err != nil {
		return err
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	none := syscall.Rlimit{Cur: 0, Max: limit.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		return err
	}
	if f, err := os.Open("/"); err == nil {
		f.Close()
		return errors.New("descriptors are left")
	}
	before, err1 := g.Populated()
	err2 := g.Kill()
	if err2 != nil {
		_ = c.Process.Kill()
	}
	_ = c.Wait()
	after, err3 := g.Populated()
	if !before || after {
		return fmt.Errorf("populated: %t, %t", before, after)
	}
	return errors.Join(err1, err2, err3, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
}

// forbid makes a system call fail as if it did not exist, as some sandboxes do.
func forbid(call uint32) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	return nil
}

func descriptors() int {
	names, _ := filepath.Glob("/proc/self/fd/*")
	return len(names)
}

// needCgroup skips a test if this process cannot have groups. In CI the test fails.
func needCgroup(t testing.TB) string {
	t.Helper()
	home := Find()
	need(t, home.err == nil, fmt.Sprint("a cgroup in which to make others: ", home.err))
	return home.dir
}

func needRoot(t testing.TB) {
	t.Helper()
	need(t, os.Getuid() == 0, "being root")
}

func need(t testing.TB, met bool, what string) {
	t.Helper()
	switch {
	case met:
	case os.Getenv("CI") == "true":
		t.Fatalf("in CI, and without %s", what)
	default:
		t.Skipf("without %s", what)
	}
}

// newGroup makes a group. The end of the test kills its processes and removes it.
func newGroup(t testing.TB) *Group {
	t.Helper()
	needCgroup(t)
	g, err := New()
	if err != nil {
		t.Fatal(err)
	}
	path := g.Path()
	t.Cleanup(func() {
		kill(t, g)
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the directory is left: %v", err)
		}
	})
	return g
}

// kill kills the processes of a group until none is left.
func kill(t testing.TB, g *Group) {
	t.Helper()
	until(t, "the group is empty", func() bool {
		if err := g.Kill(); err != nil {
			t.Fatal(err)
		}
		return !populated(t, g)
	})
}

func populated(t testing.TB, g *Group) bool {
	t.Helper()
	is, err := g.Populated()
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// inGroup returns a command that runs a script in a group.
func inGroup(g *Group, script string) *exec.Cmd {
	c := exec.Command("/bin/sh", "-c", script)
	c.Env = os.Environ()
	c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
	return c
}

// A job is a script that runs in its own group, $G, and has its own directory, $D. All of its
// processes hold one end of a pipe.
type job struct {
	*Group
	t    testing.TB
	dir  string
	pid  int // of the first process
	pipe *os.File
}

func start(t testing.TB, script string) job {
	t.Helper()
	j := job{Group: newGroup(t), t: t, dir: t.TempDir()}
	var held *os.File
	var err error
	if j.pipe, held, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	c := inGroup(j.Group, script)
	c.ExtraFiles = []*os.File{held}
	c.Env = append(c.Env, "D="+j.dir, "G="+j.Path())
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	j.pid = c.Process.Pid
	var wait sync.WaitGroup
	wait.Go(func() { _ = c.Wait() })
	t.Cleanup(func() {
		kill(t, j.Group)
		wait.Wait()
		j.pipe.Close()
	})
	return j
}

// startRole starts this program in a role.
func startRole(t testing.TB, role string) job {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return start(t, roleVariable+"="+role+" exec "+self)
}

// wrote waits for a line that the job writes to a file, and returns it.
func (j job) wrote(name string) string {
	j.t.Helper()
	var text []byte
	until(j.t, "the job has written "+name, func() bool {
		text, _ = os.ReadFile(filepath.Join(j.dir, name))
		return strings.HasSuffix(string(text), "\n")
	})
	return strings.TrimSuffix(string(text), "\n")
}

// dies kills the job once. It returns the time until no process is left.
func (j job) dies(g *Group) time.Duration {
	j.t.Helper()
	begin := time.Now()
	if err := g.Kill(); err != nil {
		j.t.Fatal(err)
	}
	until(j.t, "the group is empty", func() bool { return !populated(j.t, j.Group) })
	took := time.Since(begin)
	j.gone()
	return took
}

// gone checks, independently of cgroups, that no process holds the pipe.
func (j job) gone() {
	j.t.Helper()
	_ = j.pipe.SetReadDeadline(time.Now().Add(testPatience))
	if _, err := j.pipe.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		j.t.Errorf("not populated, but a process is left: %v", err)
	}
}

// until waits until f returns true.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(testPatience); time.Now().Before(end); time.Sleep(50 * time.Microsecond) {
		if f() {
			return
		}
	}
	t.Fatalf("not within a minute: %s", what)
}

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
