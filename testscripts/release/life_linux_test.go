package release

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// A version is what `leaderrun version -o json` prints.
type version struct {
	Version, Commit, Date, Platform string
	Modified                        bool
	Helpers                         []struct{ Name, Path, Version, Error string }
}

func versionOf(t *testing.T, text []byte) version {
	t.Helper()
	var v version
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// checkLife installs the packages into an empty root, runs the programs in them, upgrades
// the packages, and removes all of them.
func checkLife(t *testing.T, first, next string) {
	r := newRoot(t)
	empty := r.files(t)
	deb := func(dist, name string) string { return only(t, filepath.Join(dist, name+"_1*.deb")) }
	all := func(dist string) []string {
		debs := []string{deb(dist, "leaderrun")}
		for _, name := range helpers {
			debs = append(debs, deb(dist, name))
		}
		return debs
	}

	if out, err := r.dpkg("-i", deb(first, "leaderrun-etcd")); err == nil || !strings.Contains(out, "leaderrun-etcd depends on leaderrun") {
		t.Errorf("a helper program was installed without leaderrun: %v\n%s", err, out)
	}
	r.must(t, append([]string{"-i"}, all(first)...)...)
	r.must(t, "--verify")
	v := r.version(t)
	if v.Platform != "linux/"+runtime.GOARCH || v.Commit == "" || v.Date != committed.Format("2006-01-02T15:04:05Z") || v.Modified {
		t.Errorf("got %+v", v)
	}
	r.all(t, v, v.Version)
	if status, out := r.run(t, "leaderrun", "--lock", "x", "--", "leaderrun", "check", "--for", "1s"); status != 0 || out != "" {
		t.Errorf("a job under a lock on a file: exit status %d\n%s", status, out)
	}

	// Upgrade one after the other: in between the versions differ.
	r.must(t, "-i", deb(next, "leaderrun"))
	mixed := r.version(t)
	if !strings.HasPrefix(v.Version, "v1.0.1-") || !strings.HasPrefix(mixed.Version, "v1.1.1-") {
		t.Errorf("the version was %s and is %s", v.Version, mixed.Version)
	}
	r.all(t, mixed, v.Version, "leaderrun-monitor")
	status, out := r.run(t, "leaderrun", "doctor", "-b", "etcd://127.0.0.1:1", "--connect-timeout", "1")
	if want := "! helper: /usr/libexec/leaderrun/leaderrun-etcd has version " + v.Version + ", and leaderrun " + mixed.Version +
		"\n  fix: install both from one release\n"; status != 69 || !strings.Contains(out, want) {
		t.Errorf("exit status %d, want 69, and a warning of the versions:\n%s", status, out)
	}
	r.must(t, append([]string{"-i"}, all(next)...)...)
	r.all(t, r.version(t), mixed.Version)

	if out, err := r.dpkg("-r", "leaderrun"); err == nil {
		t.Errorf("leaderrun was removed from below its helper programs:\n%s", out)
	}
	r.must(t, append([]string{"-P", "leaderrun"}, helpers...)...)
	left := slices.DeleteFunc(r.files(t), func(name string) bool { return slices.Contains(empty, name) })
	// Locks belong to no package: the next installation continues with them.
	left = slices.DeleteFunc(left, func(name string) bool { return strings.HasPrefix(name+"/", "var/lib/leaderrun/") })
	if len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// A root is the root of a system that contains only what dpkg needs.
type root string

func newRoot(t *testing.T) root {
	t.Helper()
	if os.Geteuid() != 0 {
		realserver.Missing(t, "only root can install packages")
	}
	for _, program := range []string{"dpkg", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			realserver.Missing(t, "there is no "+program)
		}
	}
	if err := exec.Command("unshare", "--mount", "--pid", "--fork", "--mount-proc", "true").Run(); err != nil {
		realserver.Missing(t, "nobody may mount anything on this machine")
	}
	r := root(t.TempDir())
	for _, dir := range []string{"proc", "dev", "tmp", "var/lib/dpkg/info", "var/lib/dpkg/updates"} {
		if err := os.MkdirAll(filepath.Join(string(r), dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(string(r), "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(string(r), "tmp"), 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	null := filepath.Join(string(r), "dev/null")
	if err := unix.Mknod(null, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		realserver.Missing(t, "nobody on this machine may make "+null)
	}
	return r
}

// dpkg runs dpkg on the root, whatever settings this machine has.
func (r root) dpkg(args ...string) (string, error) {
	c := exec.Command("dpkg", append([]string{"--root=" + string(r), "--log=/dev/null", "--path-include=*"}, args...)...)
	c.Env = append(os.Environ(), "LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	out, err := c.CombinedOutput()
	return string(out), err
}

func (r root) must(t *testing.T, args ...string) {
	t.Helper()
	if out, err := r.dpkg(args...); err != nil {
		t.Fatalf("dpkg %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// run runs a program in the root, and returns its exit status and its output.
func (r root) run(t *testing.T, program string, args ...string) (int, string) {
	t.Helper()
	return r.enter(t, nil, append([]string{"/usr/bin/" + program}, args...)...)
}

// enter runs a command there, as the first process of a container.
func (r root) enter(t *testing.T, as []string, command ...string) (int, string) {
	t.Helper()
	c := exec.Command("unshare", slices.Concat([]string{"--mount", "--pid", "--fork", "--root=" + string(r), "--mount-proc"}, as, command)...)
	c.Env = []string{"PATH=/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8"}
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

func (r root) version(t *testing.T) version {
	t.Helper()
	status, out := r.run(t, "leaderrun", "version", "-o", "json")
	if status != 0 {
		t.Fatalf("exit status %d: %s", status, out)
	}
	return versionOf(t, []byte(out))
}

// all checks that every helper program is found where it was installed, and has a
// version. The own helpers have leaderrun's version.
func (r root) all(t *testing.T, v version, want string, own ...string) {
	t.Helper()
	if want := len(helpers) + 1; len(v.Helpers) != want { // and leaderrun-monitor
		t.Errorf("%d helper programs, want %d: %+v", len(v.Helpers), want, v.Helpers)
	}
	for _, h := range v.Helpers {
		version := want
		if slices.Contains(own, h.Name) {
			version = v.Version
		}
		if h.Path != "/usr/libexec/leaderrun/"+h.Name || h.Version != version {
			t.Errorf("got %+v, want one of version %s", h, version)
		}
	}
}

// files returns the names of all files in the root, except for dpkg's own.
func (r root) files(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(string(r), func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(string(r), path)
		if err == nil && name == "var/lib/dpkg" {
			return fs.SkipDir
		}
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
