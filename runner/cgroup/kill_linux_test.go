package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Scripts that try to escape. Each writes a file when it has done so.
var runaways = map[string]string{
	"one process":         `echo >$D/ready; exec sleep 60`,
	"ignores signals":     `trap '' HUP INT TERM; echo >$D/ready; while :; do sleep 1; done`,
	"setsid":              `setsid sh -c 'echo >$D/ready; sleep 60' & exit`,
	"double fork":         `(setsid sh -c 'sleep 60 & echo >$D/ready' &) ; exit`,
	"forks in a loop":     `i=0; while [ $i -lt 300 ]; do sleep 60 & i=$((i+1)); [ $i != 100 ] || echo >$D/ready; done; wait`,
	"stopped":             `sh -c 'echo >$D/ready; kill -STOP $$' & wait`,
	"nested":              `mkdir -p $G/a/b; sh -c 'echo $$ >$G/a/b/cgroup.procs; echo >$D/ready; sleep 60; :' & wait`,
	"nests itself":        `mkdir -p $G/x; echo $$ >$G/x/cgroup.procs; echo >$D/ready; sleep 60; :`,
	"a threaded nest":     `mkdir $G/t; echo threaded >$G/t/cgroup.type; echo $$ >$G/t/cgroup.procs; echo >$D/ready; sleep 60; :`,
	"makes it threaded":   `echo threaded >$G/cgroup.type || echo no; echo >$D/ready; sleep 60; :`,
	"freezes":             `sh -c 'echo >$D/ready; echo 1 >$G/cgroup.freeze' & sleep 60; :`,
	"another user's":      `setpriv --reuid=65534 --clear-groups sh -c ': >/dev/null; sleep 60' & echo >$D/ready; wait`,
	"its own environment": `env -i sleep 60 & echo >$D/ready; wait`,
}

// Whatever the job does, one Kill ends it, nothing of it is left, and the group can be
// removed. (The end of the test removes it.)
func TestKill(t *testing.T) {
	t.Parallel()
	for name, script := range runaways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := start(t, script)
			j.wrote("ready")
			if name == "freezes" {
				until(t, "it is frozen", func() bool {
					text, _ := os.ReadFile(filepath.Join(j.Path(), "cgroup.events"))
					return string(text) == "populated 1\nfrozen 1\n"
				})
			}
			if took := j.dies(j.Group); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// Kill also ends a chain of processes, each of which starts the next in its own session and
// ends after 200 µs.
func TestKillRelay(t *testing.T) {
	t.Parallel()
	for range 20 {
		j := startRole(t, "relay")
		until(t, "the relay runs", func() bool { return !alive(j.pid) && populated(t, j.Group) })
		if took := j.dies(j.Group); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		if err := j.Remove(); err != nil {
			t.Error(err)
		}
	}
}

// A second handle, as in another process, works like the first.
func TestKillFromOtherHandle(t *testing.T) {
	t.Parallel()
	j := start(t, `mkdir $G/a; echo $$ >$G/a/cgroup.procs; echo >$D/ready; sleep 60; :`)
	j.wrote("ready")
	other, err := Open(j.Path())
	if err != nil {
		t.Fatal(err)
	}
	if !populated(t, other) || other.Path() != j.Path() {
		t.Error("the handle is on another group")
	}
	j.dies(other)
	if err := other.Remove(); err != nil {
		t.Error(err)
	}
	removedEverywhere(t, j.Group)
	if _, err := Open(j.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a third handle: %v", err)
	}
}

// removedEverywhere checks a handle on a group that was removed by another handle.
func removedEverywhere(t *testing.T, g *Group) {
	t.Helper()
	for range 2 { // while its files are open, and afterwards
		if err := g.Kill(); err != nil {
			t.Errorf("kill: %v", err)
		}
		if populated(t, g) {
			t.Error("it is populated")
		}
		if err := g.Remove(); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
}

func TestOpenOnlyOurs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(place(t), "leaderrun-1-backup")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if g, err := Open(dir); err == nil {
		g.Close()
		t.Errorf("a handle on %s", dir)
	}
}

// A process that has no descriptors left can still kill, and see that nothing is left.
func TestKillWithoutDescriptors(t *testing.T) {
	t.Parallel()
	needCgroup(t)
	made(t, asRole(t, "exhausted", ""))
}

// Populated returns true while a process is left, however deep, and then false.
func TestPopulated(t *testing.T) {
	t.Parallel()
	j := start(t, `mkdir -p $G/a/b
		sh -c 'echo $$ >$G/a/b/cgroup.procs; echo $$ >$D/deep; exec sleep 60' &
		sh -c 'echo $$ >$D/flat; exec sleep 60' &
		echo $$ >$D/first; wait`)
	names := []string{"first", "flat", "deep"}
	for _, name := range names {
		j.wrote(name)
	}
	for _, name := range names {
		if !populated(t, j.Group) {
			t.Errorf("not populated before %s is killed", name)
		}
		pid, _ := strconv.Atoi(j.wrote(name))
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		until(t, name+" is gone", func() bool { return !alive(pid) })
	}
	until(t, "none is left", func() bool { return !populated(t, j.Group) })
	j.gone()
}

// While a process is left, Remove removes nothing, because the job may use the cgroups that
// it has made.
func TestRemovePopulated(t *testing.T) {
	t.Parallel()
	j := start(t, `mkdir -p $G/a/b; echo >$D/ready; sleep 60; :`)
	j.wrote("ready")
	if err := j.Remove(); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("got %v, want EBUSY", err)
	}
	if _, err := os.Stat(filepath.Join(j.Path(), "a", "b")); err != nil {
		t.Error(err)
	}
	j.dies(j.Group)
}
