package guard_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// The test binary is also a program that tests run. It plays the role in this variable, in the
// directory $D, where it writes reports for which tests wait.
const roleVariable = "GUARD_TEST_ROLE"

func TestMain(m *testing.M) {
	if guard.IsRole(os.Args) {
		os.Exit(guard.Main(os.Args))
	}
	role, arg, _ := strings.Cut(os.Getenv(roleVariable), " ")
	_ = os.Unsetenv(roleVariable) // processes that we start have another role
	switch role {
	case "":
		os.Exit(m.Run())
	case "supervise":
		os.Exit(supervise(arg))
	case "exit":
		code, _ := strconv.Atoi(arg)
		os.Exit(code)
	case "idle":
		report(arg, os.Getpid())
		time.Sleep(time.Hour)
	case "tree": // one of its processes leaves the group and the console
		child("idle one", 0)
		child("tree2", syscall.CREATE_NEW_PROCESS_GROUP|windows.DETACHED_PROCESS)
		time.Sleep(time.Hour)
	case "tree2":
		child("idle two", 0)
		report("three", os.Getpid())
		time.Sleep(time.Hour)
	case "leave": // leaves a process behind
		child("idle left", 0)
		os.Exit(3)
	case "relay":
		n, _ := strconv.Atoi(arg)
		report("relay", os.Getpid())
		if n > 0 {
			child("relay "+strconv.Itoa(n-1), windows.DETACHED_PROCESS)
		}
	case "polite":
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, os.Interrupt)
		report("polite", os.Getpid())
		<-caught
		os.Exit(5)
	}
}

// as returns the environment of a role.
func as(dir, role string) []string {
	return append(os.Environ(), "D="+dir, roleVariable+"="+role)
}

func child(role string, flags uint32) {
	c := exec.Command(self())
	c.Env = as(os.Getenv("D"), role)
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: flags}
	if err := c.Start(); err != nil {
		report("failed", err)
	}
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

func report(name string, what any) {
	path := filepath.Join(os.Getenv("D"), name)
	_ = os.WriteFile(path+".new", fmt.Append(nil, what), 0o600)
	_ = os.Rename(path+".new", path)
}

// supervise is a small leaderrun. It runs a role as a job until nothing of it is left. Its lock
// is only the file to which the guard writes the release.
func supervise(role string) int {
	g := guard.Begin(nil)
	defer g.Close()
	report("guard", g.PID())
	killBy := clock.Never
	if d, err := time.ParseDuration(os.Getenv("DEADLINE")); err == nil {
		killBy = clock.Boot{}.Now().Add(d)
	}
	report("deadline", int64(killBy))
	release, err := os.OpenFile(filepath.Join(os.Getenv("D"), "release"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	command := proc.Command{
		Path:    self(),
		Args:    []string{"job"},
		Env:     as(os.Getenv("D"), role),
		OnDeath: proc.OnDeath{Release: release, Message: []byte("release")},
	}
	job, err := g.Begun(command, killBy)
	if err != nil {
		report("refused", err)
		return 126
	}
	report("job", job.PID())
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	stop := filepath.Join(os.Getenv("D"), "stop")
	for exited := job.Exited(); exited != nil || !job.Gone(); {
		select {
		case err := <-job.Failed():
			report("unguarded", err)
		case <-exited:
			exited = nil
			report("exited", job.Exit().Code)
		case <-look.C:
			if os.Remove(stop) == nil {
				_ = job.Stop(syscall.SIGTERM)
			}
		}
	}
	report("gone", "")
	return 0
}

// patience is how long tests wait for an event on a busy machine.
const patience = 30 * time.Second

// until waits until f returns true.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("not within %v: %s", patience, what)
}

// reported waits for a report.
func reported(t *testing.T, dir, name string) string {
	t.Helper()
	var text []byte
	until(t, "the report "+name, func() (ok bool) {
		var err error
		text, err = os.ReadFile(filepath.Join(dir, name))
		return err == nil
	})
	return string(text)
}

// A process is one that has reported its id to the test.
type process struct {
	t *testing.T
	windows.Handle
}

func open(t *testing.T, dir, name string) process {
	t.Helper()
	pid, err := strconv.Atoi(reported(t, dir, name))
	if err != nil {
		t.Fatal(err)
	}
	h, err := windows.OpenProcess(windows.PROCESS_TERMINATE|windows.PROCESS_SUSPEND_RESUME|windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(func() {
		_ = windows.TerminateProcess(h, 1)
		_ = windows.CloseHandle(h)
	})
	return process{t, h}
}

func openAll(t *testing.T, dir string, names ...string) (all []process) {
	t.Helper()
	for _, name := range names {
		all = append(all, open(t, dir, name))
	}
	return all
}

func (p process) alive() bool {
	event, err := windows.WaitForSingleObject(p.Handle, 0)
	return err == nil && event == uint32(windows.WAIT_TIMEOUT)
}

// ends waits until the process has ended.
func (p process) ends() {
	p.t.Helper()
	if event, err := windows.WaitForSingleObject(p.Handle, uint32(patience.Milliseconds())); event != windows.WAIT_OBJECT_0 {
		p.t.Errorf("the process has not ended: %d, %v", event, err)
	}
}

func (p process) kill() {
	p.t.Helper()
	if err := windows.TerminateProcess(p.Handle, 9); err != nil {
		p.t.Fatal(err)
	}
}

func (p process) freeze() { p.call("NtSuspendProcess") }
func (p process) thaw()   { p.call("NtResumeProcess") }

func (p process) call(name string) {
	p.t.Helper()
	if status, _, _ := windows.NewLazySystemDLL("ntdll.dll").NewProc(name).Call(uintptr(p.Handle)); status != 0 {
		p.t.Fatal(name, errors.New(windows.NTStatus(status).Error()))
	}
}
