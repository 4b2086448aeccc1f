package threads

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFreeInCgroups checks that the tightest limit of our cgroups and those above them
// counts.
func TestFreeInCgroups(t *testing.T) {
	t.Parallel()
	const own = "9:name=systemd:/other\n8:pids:/old/a\n0::/new/a\n"
	for _, tt := range []struct {
		limits map[string]string
		want   int
	}{
		{nil, many},
		{map[string]string{"new/a": "max", "new": "max"}, many},
		{map[string]string{"new/a": "9", "new": "max"}, 5},
		{map[string]string{"new/a": "max", "new": "9"}, 5},
		{map[string]string{"new/a": "100000", "": "9"}, 5},
		{map[string]string{"new/a": "9", "new": "7"}, 3},
		{map[string]string{"new/a": "3"}, -1},
		{map[string]string{"pids/old/a": "9", "new/a": "12"}, 5},
		{map[string]string{"pids/old": "9"}, 5},
		{map[string]string{"new/b": "9", "other": "9", "pids/new/a": "9"}, many},
	} {
		root := t.TempDir()
		for dir, limit := range tt.limits {
			dir = filepath.Join(root, dir)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"pids.max": limit, "pids.current": "4"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := inCgroups(root, own); got.free != tt.want {
			t.Errorf("%v: %d are free, want %d", tt.limits, got.free, tt.want)
		}
	}
	if got := inCgroups(t.TempDir(), "0::/../a\nnonsense\n"); got != ample {
		t.Errorf("without visible limits there is room for %v", got)
	}
}

// TestFreeOnMachine checks that the kernel's own limits count, and that of process ids only
// where all of them are known.
func TestFreeOnMachine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		load, namespace, threads, pids string
		want                           int
		of                             string
	}{
		{"0.20 0.18 0.12 1/32700 11206\n", firstNamespace, "190000", "32768", 68, "pid_max"},
		{"0.20 0.18 0.12 1/32700 11206\n", "pid:[4026532000]", "190000", "32768", many, ""},
		{"0.20 0.18 0.12 1/995 11206\n", "pid:[4026532000]", "1000", "32768", 5, "threads-max"},
		{"0.20 0.18 0.12 1/1005 11206\n", firstNamespace, "1000", "32768", -5, "threads-max"},
		{"0.20 0.18 0.12 1/80 11206\n", firstNamespace, "190000", "4194304", many, ""},
		{"nonsense\n", firstNamespace, "1", "1", many, ""},
	} {
		dir := t.TempDir() + "/"
		for _, d := range []string{"self/ns", "sys/kernel"} {
			if err := os.MkdirAll(dir+d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range map[string]string{"loadavg": tt.load, "sys/kernel/threads-max": tt.threads + "\n", "sys/kernel/pid_max": tt.pids + "\n"} {
			if err := os.WriteFile(dir+name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(tt.namespace, dir+"self/ns/pid"); err != nil {
			t.Fatal(err)
		}
		if got := ofMachine(dir); got.free != tt.want || !strings.Contains(got.of, tt.of) {
			t.Errorf("%+v: got %+v", tt, got)
		}
	}
}
