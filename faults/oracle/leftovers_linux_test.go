package oracle

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

func TestLeftovers(t *testing.T) {
	t.Parallel()
	cookie := t.Name() + strconv.Itoa(os.Getpid())
	stop := marked(t, cookie)
	if got, err := Gone(cookie, 0); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "sleep") {
		t.Errorf("got %q, %v; want the one that was started", got, err)
	}
	stop()
	if got, err := Gone(cookie, 10*time.Second); err != nil || len(got) != 0 {
		t.Errorf("got %q, %v; want nothing", got, err)
	}
}

// roleVariable gives this test program another role.
const roleVariable = "ORACLE_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "headless" {
		go func() { time.Sleep(time.Minute); os.Exit(1) }()
		_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
	}
	os.Exit(m.Run())
}

// TestLeftoversHeadless checks that a process whose first thread has ended is found.
func TestLeftoversHeadless(t *testing.T) {
	t.Parallel()
	cookie := t.Name() + strconv.Itoa(os.Getpid())
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), trace.CookieVariable+"="+cookie, roleVariable+"=headless")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for stat, end := []byte(nil), time.Now().Add(30*time.Second); !bytes.Contains(stat, []byte(") Z ")); {
		if time.Now().After(end) {
			t.Fatalf("its first thread has not ended: %s", stat)
		}
		stat, _ = os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	}
	if got, err := Leftovers(cookie); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], os.Args[0]) {
		t.Errorf("got %q, %v; want the one that was started", got, err)
	}
}

// marked starts a process with a cookie, and returns how to end it.
func marked(t *testing.T, cookie string) (stop func()) {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Env = append(os.Environ(), trace.CookieVariable+"="+cookie)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
	t.Cleanup(stop)
	return stop
}

// TestJudgeLeftovers judges a history of nothing with a process left behind.
func TestJudgeLeftovers(t *testing.T) {
	t.Parallel()
	cookie := t.Name() + strconv.Itoa(os.Getpid())
	marked(t, cookie)
	v := Judge(History{}, Options{Cookie: cookie})
	if len(v.Wrong) != 1 || !strings.Contains(v.Wrong[0], "left at the end: sleep 60") || v.Figures.Orphans != 1 {
		t.Errorf("got %q, %d orphans", v.Wrong, v.Figures.Orphans)
	}
}
