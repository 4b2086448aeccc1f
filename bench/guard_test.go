//go:build bench && linux

package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc/proctest"
	"github.com/leaderrun/leaderrun/runner/socket"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// relayVariable makes this program play a job that is never the same process for long.
const relayVariable = "BENCH_RELAY"

// askVariable makes this program play a job that writes down the end of its lease.
const askVariable = "BENCH_ASK"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(relayVariable) != "":
		proctest.Relay()
	case os.Getenv(askVariable) != "":
		ask()
	}
	os.Exit(m.Run())
}

func ask() {
	a, err := socket.Ask(os.Getenv("LEADERRUN_SOCKET"), time.Second)
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Getenv("D"), "deadline"), fmt.Appendln(nil, a.Deadline), 0o600)
	}
	if err != nil {
		panic(err)
	}
	time.Sleep(1000 * time.Second)
}

// guard measures how soon nothing of a job is left when leaderrun itself cannot kill it.
func (b *bench) guard(t *testing.T) section {
	const kills, freezes, relays = 200, 20, 100
	family := []string{"sh", "-c", `(setsid sleep 1000 &); sleep 1000 & sleep 1000`}
	s := section{
		title: "The guard: nothing of the job is left",
		commands: []string{
			"leaderrun -b file:///locks -l x -- sh -c '(setsid sleep 1000 &); sleep 1000 & sleep 1000'",
			"leaderrun -b etcd --ttl 3 -- sleep 1000",
		},
		notes: []string{"From the SIGKILL of leaderrun until its guard has seen that no process of the job is left, and has ended; the limits are for the p99. " +
			"A frozen leaderrun has got SIGSTOP; what is late is the end of the job against the moment at which it must be killed, E − J − X. " +
			"In a fork relay each process starts the next one, in a session of its own, and ends 200 µs later."},
	}
	for _, tier := range []string{"cgroup", "subreaper"} {
		s.figures = append(s.figures,
			atMost99("leaderrun killed, a job of four processes, "+tier, "ms", b.killed(t, kills, tier, family), 20),
			atMost99("leaderrun killed, a fork relay, "+tier, "ms", b.killed(t, relays, tier, []string{selfPath(t)}, relayVariable+"=1"), 20))
	}
	s.figures = append(s.figures, atMost99("leaderrun frozen: how late the job is dead", "ms", b.frozen(t, freezes), 20))
	return s
}

// atMost99 returns a figure whose 99th percentile has a limit.
func atMost99(what, unit string, ours sample, limit float64) figure {
	f := atMost(what, unit, ours, limit)
	f.met = ours.quantile(0.99) <= limit
	return f
}

func selfPath(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// killed kills leaderrun, and returns how long its guard lives after that.
func (b *bench) killed(t *testing.T, rounds int, tier string, job []string, env ...string) (s sample) {
	dir := filepath.Join(t.TempDir(), "locks")
	for range rounds {
		r := b.hold(t, command{argv: slices.Concat([]string{b.core, "-b", "file://" + dir, "-l", "x", "--containment", tier, "--wait-children", "--"}, job), env: env})
		took := r.end(t, func() { _ = r.cmd.Process.Kill() })
		_ = r.cmd.Wait()
		s = append(s, ms(took))
	}
	return s
}

// frozen stops leaderrun, and returns how late the job is killed.
func (b *bench) frozen(t *testing.T, rounds int) (s sample) {
	const ttl = 3 * time.Second
	timing := timing.New(ttl, timing.KillAfter)
	server := etcdtest.Start(t, etcdtest.Options{})
	for len(s) < rounds {
		c := on(server, []string{b.core, "-b", "etcd", "-l", "x", "--ttl", ttl.String(), "--"}, selfPath(t))
		c.env = append(c.env, askVariable+"=1")
		r := b.hold(t, c)
		deadline, err := strconv.ParseInt(r.wrote(t, "deadline"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.cmd.Process.Signal(syscall.SIGSTOP)
		_ = r.end(t, func() {})
		late := (clock.Boot{}).Now().Sub(timing.KillAt(clock.Instant(deadline)))
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		if late < timing.Renew/2 { // otherwise it was renewed after the job had asked
			s = append(s, ms(late))
		}
	}
	return s
}

// A holder is a leaderrun that runs a job.
type holder struct {
	cmd   *exec.Cmd
	dir   string
	guard int // a pidfd
}

// hold starts a command and waits until its guard has started the job.
func (b *bench) hold(t *testing.T, c command) *holder {
	t.Helper()
	h := &holder{dir: t.TempDir()}
	c.env = append(c.env, "D="+h.dir)
	h.cmd = b.prepare(c)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var guard int
	await(t, "guard that has started the job", func() bool {
		for _, pid := range children(h.cmd.Process.Pid) {
			if isGuard(pid) && len(children(pid)) > 0 {
				guard = pid
			}
		}
		return guard != 0
	})
	time.Sleep(20 * time.Millisecond) // the job is under way
	var err error
	if h.guard, err = unix.PidfdOpen(guard, 0); err != nil {
		t.Fatal(err)
	}
	return h
}

func isGuard(pid int) bool {
	line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return strings.HasPrefix(string(line), "leaderrun-guard")
}

// end calls do and returns how long the guard lives after that.
func (h *holder) end(t *testing.T, do func()) time.Duration {
	t.Helper()
	start := time.Now()
	do()
	var err error = unix.EINTR
	for errors.Is(err, unix.EINTR) {
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(h.guard), Events: unix.POLLIN}}, 10_000)
	}
	took := time.Since(start)
	if err != nil || took > 10*time.Second {
		t.Fatalf("the guard does not end: %v", err)
	}
	_ = unix.Close(h.guard)
	return took
}

// wrote waits for a line that the job writes to a file.
func (h *holder) wrote(t *testing.T, name string) (line string) {
	t.Helper()
	await(t, name+" written by the job", func() bool {
		text, _ := os.ReadFile(filepath.Join(h.dir, name))
		line = strings.TrimSpace(string(text))
		return strings.HasSuffix(string(text), "\n")
	})
	return line
}
