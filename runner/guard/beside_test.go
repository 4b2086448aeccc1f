//go:build unix

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

// A kill that comes too late, for what ran before, does not meet what runs now.
func TestKillOfAnother(t *testing.T) {
	t.Parallel()
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	k := newKeeper(nil, machine{})
	k.aside = running{pid: c.Process.Pid, number: 2}
	for _, f := range []frame{number(kindKillAside, 1), number(kindKillAside, 3), {kind: kindKillAside}} {
		k.killAside(f)
	}
	_ = c.Process.Signal(syscall.SIGTERM) // a SIGKILL would have been first
	if err := c.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("got %v", err)
	}
	k.aside = running{}
	k.killAside(number(kindKillAside, 0)) // and not our own group
}

// A guard that ends with its job answers nothing to what is to be beside that. Nobody
// waits for it to end.
func TestBesideJobEndsMeanwhile(t *testing.T) {
	t.Parallel()
	ours, theirs := connected(t)
	j := newJob(&Guard{conn: ours, startsAside: time.Minute}, proc.Will{}, clock.Never)
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(j.listen)
	both.Go(func() {
		if f, ok := j.orders.next(nil); !ok || f.kind != kindAside {
			t.Errorf("got %q", f.kind)
		}
		_ = theirs.send(number(kindExited, goneToo))
	})
	defer theirs.close()
	if _, err := j.Beside(aTask.command); !errors.Is(err, errOver) {
		t.Errorf("got %v", err)
	}
}

// Nothing is started beside a job for which it would be too late, or
// beside something else.
func TestSpawnAsideTooLate(t *testing.T) {
	t.Parallel()
	for want, keepers := range map[syscall.Errno][]keeper{
		errnoLate:     {{}, {job: 1, ended: true}, {job: 1, kills: 1}, {job: 1, killBy: clock.Boot{}.Now()}},
		syscall.EBUSY: {{job: 1, aside: running{pid: 1}}},
	} {
		for _, k := range keepers {
			k.host, k.cage = machine{}, groupCage{}
			if k.killBy == 0 {
				k.killBy = clock.Never
			}
			before := k.aside
			got, err := k.spawnAside(request{1, proc.Command{Path: "/bin/true", Args: []string{"true"}}})
			if got != before || err != want {
				t.Errorf("%+v: got %v, %v; want %v", k, got, err, want)
			}
			if got != before {
				_, _ = syscall.Wait4(got.pid, nil, 0, nil)
			}
		}
	}
}
