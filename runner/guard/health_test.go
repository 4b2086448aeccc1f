package guard

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A late kill, for an earlier check, does not hit the check that runs now.
func TestKillOfAnother(t *testing.T) {
	t.Parallel()
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	g := newGuard(nil, machine{})
	g.check = running{pid: c.Process.Pid, number: 2}
	for _, f := range []frame{number(kindKillCheck, 1), number(kindKillCheck, 3), {kind: kindKillCheck}} {
		g.killCheck(f)
	}
	_ = c.Process.Signal(syscall.SIGTERM) // a SIGKILL would have come first
	if err := c.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("got %v", err)
	}
	g.check = running{}
	g.killCheck(number(kindKillCheck, 0)) // does not hit our own group
}

// A guard that ends with its job does not answer an order to start a health check. CheckHealth
// does not wait for the guard's end.
func TestHealthCheckJobEndsMeanwhile(t *testing.T) {
	t.Parallel()
	ours, theirs := connected(t)
	j := newJob(&Client{conn: ours, startsCheck: time.Minute}, proc.OnDeath{}, clock.Never)
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(j.receive)
	both.Go(func() {
		if f, ok := j.orders.next(nil); !ok || f.kind != kindCheck {
			t.Errorf("got %q", f.kind)
		}
		_ = theirs.send(number(kindExited, goneToo))
	})
	defer theirs.close()
	if _, err := j.CheckHealth(aTask.command); !errors.Is(err, errOver) {
		t.Errorf("got %v", err)
	}
}

// No health check is started when it would be too late, or while another one runs.
func TestSpawnHealthCheckTooLate(t *testing.T) {
	t.Parallel()
	for want, guards := range map[syscall.Errno][]guard{
		errnoLate:     {{}, {job: 1, ended: true}, {job: 1, kills: 1}, {job: 1, killBy: clock.Boot{}.Now()}},
		syscall.EBUSY: {{job: 1, check: running{pid: 1}}},
	} {
		for _, g := range guards {
			g.host, g.container = machine{}, groupContainer{}
			if g.killBy == 0 {
				g.killBy = clock.Never
			}
			before := g.check
			got, err := g.spawnCheck(checkStart{1, proc.Command{Path: "/bin/true", Args: []string{"true"}}})
			if got != before || err != want {
				t.Errorf("%+v: got %v, %v; want %v", g, got, err, want)
			}
			if got != before {
				_, _ = syscall.Wait4(got.pid, nil, 0, nil)
			}
		}
	}
}
