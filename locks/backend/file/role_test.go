package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
)

// The test binary runs itself in a role, for tests that need processes. The variables
// name the role and the lock.
const (
	roleVar   = "LEADERRUN_TEST_ROLE"
	urlVar    = "LEADERRUN_TEST_DIR"
	unlinkVar = "LEADERRUN_TEST_UNLINK"
	fenceVar  = "LEADERRUN_TEST_FENCE"
)

func roles() map[string]func() int {
	return map[string]func() int{
		"hold":    roleHold,
		"acquire": roleAcquire,
		"files":   roleFiles,
		"pass":    rolePass,
		"wait":    roleWait,
	}
}

func roleLocker() locks.Lock {
	l, err := Open(context.Background(), dirURL(os.Getenv(urlVar)), locks.Options{
		Name:   "a",
		Holder: fmt.Sprintf("test/%d/x", os.Getpid()),
	})
	if err != nil {
		panic(err)
	}
	return l
}

// inRole prepares a process in a role.
func inRole(t testing.TB, role, dir string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	if _, err := os.Stat(cmd.Path); err != nil {
		cmd.Path, _ = os.Executable()
	}
	cmd.Env = append(os.Environ(), append(env, roleVar+"="+role, urlVar+"="+dir)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// output runs the process, and returns what it printed.
func output(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// roleAcquire tries once and prints the result.
func roleAcquire() int {
	_, err := roleLocker().Acquire(context.Background(), true)
	fmt.Printf("%v; hint: %s\n", err, locks.Hint(err))
	for _, class := range []error{locks.ErrDenied, locks.ErrUnavailable, locks.ErrUsage} {
		if errors.Is(err, class) {
			fmt.Printf("class: %v\n", class)
		}
	}
	return 0
}

// roleFiles does the same with no descriptor left to open a file.
func roleFiles() int {
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: 3}); err != nil {
		panic(err)
	}
	return roleAcquire()
}

// passes is how many times a process in the role "pass" takes the lock.
const passes = 10

// rolePass takes the lock again and again, and enters the fence while it has it. Now and
// then it deletes the lock file before the release.
func rolePass() int {
	for i := range passes {
		l := roleLocker()
		g, err := l.Acquire(context.Background(), false)
		if err == nil {
			err = fence(os.Getenv(fenceVar)).enter(g.Token)
		}
		if err == nil && i%3 == os.Getpid()%3 && os.Getenv(unlinkVar) != "" {
			err = os.Remove(l.(*Locker).path)
		}
		if err = errors.Join(err, l.Release(context.Background())); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	return 0
}

// A fence is a file that detects two holders at once, and a token that is not above all
// earlier ones.
type fence string

func (f fence) enter(token uint64) error {
	door, err := os.OpenFile(string(f)+".door", os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("another holder is in the fence: %w", err)
	}
	defer os.Remove(door.Name())
	defer door.Close()
	b, _ := os.ReadFile(string(f))
	last, _ := strconv.ParseUint(string(b), 10, 64)
	if token <= last {
		return fmt.Errorf("token %d after %d", token, last)
	}
	return os.WriteFile(string(f), strconv.AppendUint(nil, token, 10), 0o600)
}

// roleWait waits for the lock and prints how much CPU time that took in 2 s.
func roleWait() int {
	l := roleLocker().(*Locker)
	asked := make(chan locks.Waiting, 1)
	l.o.Waiting = func(w locks.Waiting) { asked <- w }
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { _, err := l.Acquire(ctx, false); done <- err }()
	<-asked
	before := cpuTime()
	time.Sleep(2 * time.Second) // this is the measured time
	fmt.Println(int64(cpuTime() - before))
	cancel()
	<-done
	return 0
}

func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// roleHold holds the lock until its input ends, and then exits with it.
func roleHold() int {
	g, err := roleLocker().Acquire(context.Background(), false)
	fmt.Println(g.Token, err)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// held starts a process that holds the lock, and returns its token and a function that
// kills it.
func held(t *testing.T, dir string) (token uint64, kill func()) {
	t.Helper()
	cmd := inRole(t, "hold", dir)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	token, err = strconv.ParseUint(strings.Fields(line)[0], 10, 64)
	if err != nil || !strings.HasSuffix(line, "<nil>\n") {
		t.Fatalf("the holder printed %q", line)
	}
	return token, kill
}
