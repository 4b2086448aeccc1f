package guard_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// start starts a role as a job of this process. It returns the directory of the job.
func start(t *testing.T, g *guard.Client, role string) (job proc.Job, dir string) {
	t.Helper()
	dir = t.TempDir()
	job, err := g.Begun(proc.Command{Path: self(), Args: []string{"job"}, Env: as(dir, role)}, clock.Never)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = job.Kill()
		until(t, "the job is gone", job.Gone)
	})
	return job, dir
}

func begin(t *testing.T) *guard.Client {
	t.Helper()
	g := guard.Begin(nil)
	g.SetPatience(time.Minute) // the machine may be busy
	t.Cleanup(g.Close)
	return g
}

func exits(t *testing.T, job proc.Job) proc.Exit {
	t.Helper()
	select {
	case <-job.Exited():
	case <-time.After(patience):
		t.Fatal("the first process has not ended")
	}
	return job.Exit()
}

func TestExit(t *testing.T) {
	t.Parallel()
	for _, want := range []int{0, 1, 255, 0xc000013a} {
		job, _ := start(t, begin(t), "exit "+strconv.Itoa(want))
		if got := exits(t, job); got != (proc.Exit{Code: want}) {
			t.Errorf("got %v, want %d", got, want)
		}
		until(t, "the job is gone", job.Gone)
	}
}

// A job is gone when its last process has ended, not its first.
func TestGone(t *testing.T) {
	t.Parallel()
	job, dir := start(t, begin(t), "leave")
	left := open(t, dir, "left")
	if got := exits(t, job); got != (proc.Exit{Code: 3}) {
		t.Errorf("got %v, want 3", got)
	}
	if !left.alive() || job.Gone() {
		t.Fatalf("alive %t, gone %t", left.alive(), job.Gone())
	}
	left.kill()
	until(t, "the job is gone", job.Gone)
}

// Kill kills all processes of the job, even if they have left the group or the console.
func TestKill(t *testing.T) {
	t.Parallel()
	job, dir := start(t, begin(t), "tree")
	all := openAll(t, dir, "one", "two", "three")
	if err := job.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "the job is gone", job.Gone)
	allDead(t, all)
	if got := exits(t, job); got.Status() != proc.Killed {
		t.Errorf("got %v, want %d", got, proc.Killed)
	}
}

// Kill also ends a chain of processes, each of which starts the next and ends.
func TestKillRelay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const name = "guard-relay.exe"
	program, err := os.ReadFile(self())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), program, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	job, err := begin(t).Begun(proc.Command{Path: filepath.Join(dir, name), Args: []string{"job"}, Env: as(dir, "relay 500")}, clock.Never)
	if err != nil {
		t.Fatal(err)
	}
	reported(t, dir, "relay")
	exits(t, job)
	if n := running(t, name); n == 0 {
		t.Error("the relay has ended by itself")
	}
	if err := job.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "the job is gone", job.Gone)
	if n := running(t, name); n != 0 {
		t.Errorf("the job is gone, but %d processes are alive", n)
	}
}

// running returns how many processes of a program run.
func running(t *testing.T, name string) (n int) {
	t.Helper()
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = windows.CloseHandle(all) }()
	p := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(all, &p); err == nil; err = windows.Process32Next(all, &p) {
		if windows.UTF16ToString(p.ExeFile[:]) == name {
			n++
		}
	}
	return n
}

// A command that cannot be run is a StartError, and leaves nothing.
func TestNotRunnable(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text.exe")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, missing := range map[string]bool{filepath.Join(t.TempDir(), "none.exe"): true, text: false} {
		_, err := begin(t).Begun(proc.Command{Path: path, Args: []string{"x"}, Env: os.Environ()}, clock.Never)
		var e *proc.StartError
		if !errors.As(err, &e) || e.NotFound != missing {
			t.Errorf("%s: got %v, want a StartError with NotFound %t", path, err, missing)
		}
	}
}

// No job is started when no time is left to kill it.
func TestStartTooLate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := begin(t).Begun(proc.Command{Path: self(), Args: []string{"job"}, Env: as(dir, "idle it")}, clock.Boot{}.Now())
	if !errors.Is(err, proc.ErrUnguarded) {
		t.Errorf("got %v", err)
	}
}

// When the guard has died, the job is dead, and Failed says so.
func TestGuardDies(t *testing.T) {
	t.Parallel()
	g := begin(t)
	job, dir := start(t, g, "tree")
	all := openAll(t, dir, "one", "two", "three")
	killGuard(t, g)
	fails(t, job)
	until(t, "the job is gone", job.Gone)
	allDead(t, all)
}

// A guard that does not answer is killed with the job.
func TestGuardFrozen(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*guard.Client, proc.Job){
		"kill": func(g *guard.Client, job proc.Job) {
			g.SetPatience(100 * time.Millisecond)
			_ = job.Kill()
		},
		"flood": func(_ *guard.Client, job proc.Job) {
			for range 20_000 {
				_ = job.Signal(os.Interrupt)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := begin(t)
			job, dir := start(t, g, "tree")
			all := openAll(t, dir, "one", "two", "three")
			guardProcess(t, g).freeze()
			ask(g, job)
			fails(t, job)
			until(t, "the job is gone", job.Gone)
			allDead(t, all)
		})
	}
}

// allDead checks that no process of a job that is gone is alive.
func allDead(t *testing.T, all []process) {
	t.Helper()
	for _, p := range all {
		if p.alive() {
			t.Error("the job is gone, but a process is alive")
		}
	}
}

func fails(t *testing.T, job proc.Job) {
	t.Helper()
	select {
	case err := <-job.Failed():
		if !errors.Is(err, proc.ErrUnguarded) {
			t.Errorf("got %v", err)
		}
	case <-time.After(patience):
		t.Error("Failed received nothing")
	}
}

func guardProcess(t *testing.T, g *guard.Client) process {
	t.Helper()
	h, err := windows.OpenProcess(windows.PROCESS_TERMINATE|windows.PROCESS_SUSPEND_RESUME, false, uint32(g.PID()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = windows.CloseHandle(h) })
	return process{t, h}
}

func killGuard(t *testing.T, g *guard.Client) { guardProcess(t, g).kill() }

// supervised starts a small leaderrun in a separate process. It returns the directory of its
// job.
func supervised(t *testing.T, role string, env ...string) (leaderrun process, dir string) {
	t.Helper()
	dir = t.TempDir()
	c := exec.Command(self())
	c.Env = append(as(dir, "supervise "+role), env...)
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_CONSOLE, HideWindow: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	var h windows.Handle
	_ = c.Process.WithHandle(func(p uintptr) {
		us := windows.CurrentProcess()
		_ = windows.DuplicateHandle(us, windows.Handle(p), us, &h, 0, false, windows.DUPLICATE_SAME_ACCESS)
	})
	t.Cleanup(func() { _ = windows.CloseHandle(h) })
	return process{t, h}, dir
}

// When leaderrun has died, the guard kills the job, releases the lock, and ends.
func TestLeaderrunDies(t *testing.T) {
	t.Parallel()
	leaderrun, dir := supervised(t, "tree")
	all := openAll(t, dir, "one", "two", "three", "job", "guard")
	if text := reported(t, dir, "release"); text != "" {
		t.Errorf("released before the end: %q", text)
	}
	killed := time.Now()
	leaderrun.kill()
	for _, p := range all {
		p.ends()
	}
	t.Logf("all have ended after %v", time.Since(killed))
	if text := reported(t, dir, "release"); text != "release" {
		t.Errorf("%q was written to release", text)
	}
}

// When leaderrun is frozen, the guard kills the job at its deadline, and not before.
func TestLeaderrunFrozen(t *testing.T) {
	t.Parallel()
	leaderrun, dir := supervised(t, "tree", "DEADLINE=4s")
	all := openAll(t, dir, "one", "two", "three", "job")
	leaderrun.freeze()
	n, err := strconv.ParseInt(reported(t, dir, "deadline"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the job is dead", func() bool { return !all[0].alive() })
	late := (clock.Boot{}).Now().Sub(clock.Instant(n))
	t.Logf("killed %v after the deadline", late)
	if late < 0 {
		t.Error("the job was killed too early")
	}
	for _, p := range all {
		p.ends()
	}
	leaderrun.thaw()
	reported(t, dir, "gone")
	leaderrun.ends()
	if text := reported(t, dir, "release"); text != "" {
		t.Errorf("the lock of a frozen leaderrun was released: %q", text)
	}
}

// When the guard dies while leaderrun is frozen, the system kills the job.
func TestGuardDiesLeaderrunFrozen(t *testing.T) {
	t.Parallel()
	leaderrun, dir := supervised(t, "tree")
	all := openAll(t, dir, "one", "two", "three", "job")
	theGuard := open(t, dir, "guard")
	leaderrun.freeze()
	theGuard.kill()
	for _, p := range all {
		p.ends()
	}
	leaderrun.thaw()
	reported(t, dir, "unguarded")
	reported(t, dir, "gone")
}

// If leaderrun and the guard are killed, nothing is left.
func TestBothDie(t *testing.T) {
	t.Parallel()
	leaderrun, dir := supervised(t, "tree")
	all := openAll(t, dir, "one", "two", "three", "job")
	theGuard := open(t, dir, "guard")
	leaderrun.kill()
	theGuard.kill()
	for _, p := range all {
		p.ends()
	}
}

// A signal reaches only the job, as CTRL_BREAK.
func TestStop(t *testing.T) {
	t.Parallel()
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		t.Skip("Wine cannot send CTRL_BREAK to a process group")
	}
	_, dir := supervised(t, "polite")
	reported(t, dir, "polite")
	if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := reported(t, dir, "exited"); got != "5" {
		t.Errorf("got %s, want 5", got)
	}
	reported(t, dir, "gone")
}
