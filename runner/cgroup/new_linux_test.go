package cgroup

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// asRole returns a command that runs this program in a role. If there is a script, it runs
// first, in a new mount namespace.
func asRole(t *testing.T, role, script string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	if script != "" {
		c = exec.Command("unshare", "--mount", "sh", "-ec", script+"\n"+`exec "$0"`, self)
	}
	c.Env = append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
	c.Env = append(c.Env, env...)
	c.SysProcAttr = &syscall.SysProcAttr{}
	return c
}

// made runs a role that makes a group, and returns its path. It checks that nothing is left.
func made(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, err := c.CombinedOutput()
	path, more, _ := strings.Cut(string(out), "\n")
	if err != nil || more != "" || !filepath.IsAbs(path) {
		t.Fatalf("got %v: %s", err, out)
	}
	nothingOf(t, c)
	return path
}

// refused runs a role that cannot make a group. It checks that the role gives the reason in
// one line.
func refused(t *testing.T, c *exec.Cmd, reason string) {
	t.Helper()
	out, err := c.CombinedOutput()
	text := string(out)
	if err != nil || !strings.HasPrefix(text, "error: ") || !strings.Contains(text, reason) || strings.Count(text, "\n") != 1 {
		t.Errorf("got %v: %swant an error with %q", err, text, reason)
	}
	t.Log(strings.TrimSpace(text))
	nothingOf(t, c)
}

// nothingOf checks that no group of a process is left.
func nothingOf(t *testing.T, c *exec.Cmd) {
	t.Helper()
	top := mountPoint(t)
	_ = filepath.WalkDir(top, func(path string, _ os.DirEntry, _ error) error {
		if strings.HasPrefix(filepath.Base(path), fmt.Sprintf("leaderrun-%d-", c.Process.Pid)) {
			t.Errorf("%s is left", path)
		}
		return nil
	})
}

// mountPoint returns the directory at which our cgroup, or one above it, is mounted.
func mountPoint(t *testing.T) string {
	t.Helper()
	home := needCgroup(t)
	for dir := home; ; dir = filepath.Dir(dir) {
		var s unix.Statfs_t
		if err := unix.Statfs(filepath.Dir(dir), &s); err != nil || s.Type != unix.CGROUP2_SUPER_MAGIC {
			return dir
		}
	}
}

// place makes a cgroup in which a test can run a role. It needs root.
func place(t *testing.T) string {
	t.Helper()
	needRoot(t)
	dir := filepath.Join(needCgroup(t), fmt.Sprintf("test-%016x", rand.Uint64()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeTree(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// startIn arranges that a command starts in a cgroup.
func startIn(t *testing.T, c *exec.Cmd, dir string) {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	c.SysProcAttr.UseCgroupFD, c.SysProcAttr.CgroupFD = true, int(f.Fd())
}

const nobody = "USER_ID=65534"

// Without permission, New fails with a reason.
func TestNewUnprivileged(t *testing.T) {
	t.Parallel()
	needRoot(t)
	needCgroup(t)
	refused(t, asRole(t, "make", "", nobody), "cgroup.procs: permission denied")
}

// A user can make groups in a cgroup that was delegated completely. Permission to write to
// its directory is not enough.
func TestNewDelegated(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, owned, reason string }{
		{"all", ". cgroup.procs cgroup.subtree_control cgroup.threads", ""},
		{"the directory only", ".", "cgroup.procs: permission denied"},
		{"the processes only", "cgroup.procs", "make a cgroup: mkdir "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := place(t)
			for _, name := range strings.Fields(test.owned) {
				if err := os.Chown(filepath.Join(dir, name), 65534, 65534); err != nil {
					t.Fatal(err)
				}
			}
			c := asRole(t, "make", "", nobody)
			startIn(t, c, dir)
			if test.reason != "" {
				refused(t, c, test.reason)
			} else if path := made(t, c); filepath.Dir(path) != dir {
				t.Errorf("got %s, want a group in %s", path, dir)
			}
		})
	}
}

// However cgroups are mounted, New makes the group in our own cgroup, or fails. $U is the
// mount point, $P the path of our own cgroup below it, $D a directory.
func TestNewMounts(t *testing.T) {
	t.Parallel()
	const (
		bind    = `mkdir "$D/a b\\"; mount --bind $U "$D/a b\\"; `
		nowhere = "is not in any mounted cgroup2 file system"
		// in a namespace, moves into a cgroup outside
		toSister = `mkdir $U${P}x; exec unshare -C sh -ec 'echo $$ >$U${P}x/cgroup.procs; `
	)
	for _, test := range []struct{ name, script, dir, reason string }{
		{"as it is", `:`, `$U$P`, ""},
		{"with space and backslash", bind + `umount $U`, `$D/a b\$P`, ""},
		{"twice", bind, `$U$P`, ""},
		{"the first is read-only", bind + `mount -o remount,bind,ro $U`, `$D/a b\$P`, ""},
		{"all are read-only", `mount -o remount,bind,ro $U`, "", "read-only file system"},
		{"not at all", `umount $U`, "", nowhere},
		{"hidden", `mount -t tmpfs none $U`, "", "no such file or directory"},
		{"hidden by another", `mkdir -p $U$P/other$P; mount --bind $U$P/other $U`, "", "another file system is mounted over our cgroup"},
		{"only our own", `mkdir $D/o; mount --bind $U$P $D/o; umount $U`, `$D/o`, ""},
		{"from above our own", `mkdir $U$P/in $D/o; echo $$ >$U$P/in/cgroup.procs; mount --bind $U$P $D/o; umount $U`, `$D/o/in`, ""},
		{"only one of ours", `mkdir $U$P/in $D/o; mount --bind $U$P/in $D/o; umount $U`, "", nowhere},
		{"only a namesake", `mkdir $U${P}x $D/o; echo $$ >$U${P}x/cgroup.procs; mount --bind $U$P $D/o; umount $U`, "", nowhere},
		{"in a namespace", `exec unshare -C sh -ec 'umount $U; mount -t cgroup2 none $U; exec $0' $0`, `$U`, ""},
		{"mounted before the namespace", `exec unshare -C $0`, "", nowhere},
		{"out of the namespace", toSister + `umount $U; mount -t cgroup2 none $U; exec $0' $0`, "", nowhere},
		{"out of the namespace, mounted before", toSister + `exec $0' $0`, `$U${P}x`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, top, d := place(t), mountPoint(t), t.TempDir()
			p := strings.TrimPrefix(dir, top)
			t.Cleanup(func() { _ = removeTree(dir + "x") })
			c := asRole(t, "make", test.script, "U="+top, "P="+p, "D="+d)
			startIn(t, c, dir)
			if test.reason != "" {
				refused(t, c, test.reason)
				return
			}
			want := strings.NewReplacer("$U", top, "$P", p, "${P}", p, "$D", d).Replace(test.dir)
			if path := made(t, c); filepath.Dir(path) != want {
				t.Errorf("got %s, want a group in %s", path, want)
			}
		})
	}
}

// After a process was moved, its group is in its new cgroup, with the limits there.
func TestNewMoved(t *testing.T) {
	t.Parallel()
	from, to := place(t), place(t)
	c := asRole(t, "moved", "", "TO="+to)
	startIn(t, c, from)
	if path := made(t, c); filepath.Dir(path) != to {
		t.Errorf("got %s, want a group in %s", path, to)
	}
}

// New fails in a threaded cgroup, or if a sister of the group is threaded.
func TestNewThreaded(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"it":       `mkdir $G/t; echo threaded >$G/t/cgroup.type; echo $$ >$G/t/cgroup.procs`,
		"a sister": `mkdir $G/t; echo threaded >$G/t/cgroup.type`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := place(t)
			c := asRole(t, "make", script, "G="+dir)
			startIn(t, c, dir)
			refused(t, c, `make a cgroup: it is of type "domain invalid", and takes no processes`)
		})
	}
}

// New fails in a sandbox that forbids clone3(2).
func TestNewSandboxed(t *testing.T) {
	t.Parallel()
	needRoot(t)
	needCgroup(t)
	refused(t, asRole(t, "sandboxed", ""), "start a process in a cgroup: clone3: function not implemented")
}

// New removes the groups of dead runs if they are empty, and no groups that have an owner.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := place(t)
	run := func(role string) (path string) {
		c := asRole(t, role, "")
		startIn(t, c, dir)
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	check := func(path string, want bool) {
		t.Helper()
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", path, err == nil, want)
		}
	}
	stranger := filepath.Join(dir, "leaderrun-1-backup")
	if err := os.Mkdir(stranger, 0o755); err != nil {
		t.Fatal(err)
	}
	owned, busy, left := run("abandon"), run("abandon with a job"), run("abandon")
	check(owned, false) // later runs have removed it
	check(left, true)

	owner, err := Open(left)
	if err != nil {
		t.Fatal(err)
	}
	run("make")
	check(left, true)
	check(busy, true)
	if err := os.MkdirAll(filepath.Join(left, "nested", "more"), 0o755); err != nil {
		t.Fatal(err)
	}
	owner.Close() // a process that another test is starting may have the lock for a moment
	until(t, "the leftover is removed", func() bool {
		run("make")
		_, err := os.Stat(left)
		return err != nil
	})
	check(busy, true)
	check(stranger, true)

	g, err := Open(busy)
	if err != nil {
		t.Fatal(err)
	}
	kill(t, g)
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
}

// If another process sweeps the group away while New makes it, New makes another.
func TestSweptWhileMade(t *testing.T) {
	t.Parallel()
	home := needCgroup(t)
	var stop atomic.Bool
	var sweeper sync.WaitGroup
	sweeper.Go(func() {
		for !stop.Load() {
			sweep(home)
		}
	})
	for range 200 {
		g, err := New()
		if err != nil {
			t.Error(err)
			break
		}
		if err := inGroup(g, ":").Run(); err != nil {
			t.Error(err)
		}
		kill(t, g)
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	sweeper.Wait()
}

// BenchmarkNew measures what a group adds to the cost of a job.
func BenchmarkNew(b *testing.B) {
	needCgroup(b)
	for b.Loop() {
		g, err := New()
		if err != nil {
			b.Fatal(err)
		}
		if err := g.Remove(); err != nil {
			b.Fatal(err)
		}
	}
}
