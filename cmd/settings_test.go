package cmd

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const settingsFile = `
backend: one://top
wait: 1h
verbose: 1
jobs:
  j:
    backend: two://job
    command: [from, job]
  now:
    nonblock: true
    quiet: true
  off:
    nonblock: false
    lock: L
  both:
    verbose: 2
    quiet: true
`

// TestConfigure: what the file adds to the arguments, and so which helper is
// begun, is what neither they nor a variable say otherwise.
func TestConfigure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte(settingsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ vars, args, want string }{
		{"", "-- a", "--backend=one://top --wait=1h --verbose=1 -- a"},
		{"", "--job=j --", "--backend=two://job --lock=j --wait=1h --verbose=1 --job=j -- from job"},
		{"", "--job=j -- a b", "--backend=two://job --lock=j --wait=1h --verbose=1 --job=j -- a b"},
		{"", "--job=j --command=x --", "--backend=two://job --lock=j --wait=1h --verbose=1 --job=j --command=x --"},
		{"LEADERRUN_COMMAND=x", "--job=j --", "--backend=two://job --lock=j --wait=1h --verbose=1 --job=j --"},
		{"", "--backend=file --lock=x --job=j -- a", "--wait=1h --verbose=1 --backend=file --lock=x --job=j -- a"},
		{"LEADERRUN_BACKEND=file LEADERRUN_LOCK=x", "--job=j -- a", "--wait=1h --verbose=1 --job=j -- a"},
		{"LEADERRUN_BACKEND= LEADERRUN_JOB=j", "-- a", "--backend=two://job --lock=j --wait=1h --verbose=1 -- a"},
		{"LEADERRUN_JOB=now", "--job=j -- a", "--backend=two://job --lock=j --wait=1h --verbose=1 --job=j -- a"},
		{"", "--job=now -- a", "--backend=one://top --lock=now --nonblock=true --quiet=true --job=now -- a"},
		{"", "--job=now --wait=5 -- a", "--backend=one://top --lock=now --quiet=true --job=now --wait=5 -- a"},
		{"LEADERRUN_WAIT=5", "--job=now --verbose=2 -- a", "--backend=one://top --lock=now --job=now --verbose=2 -- a"},
		{"", "--job=now --nonblock=false -- a", "--backend=one://top --lock=now --wait=1h --quiet=true --job=now --nonblock=false -- a"},
		{"", "--nonblock=true -- a", "--backend=one://top --verbose=1 --nonblock=true -- a"},
		{"LEADERRUN_NONBLOCK=true", "-- a", "--backend=one://top --verbose=1 -- a"},
		{"LEADERRUN_NONBLOCK=false", "-- a", "--backend=one://top --wait=1h --verbose=1 -- a"},
		{"", "--job=off -- a", "--backend=one://top --lock=L --nonblock=false --wait=1h --verbose=1 --job=off -- a"},
		{"", "--job=both -- a", "error: :17: verbose and quiet contradict each other"},
		{"", "--job=both --quiet=false -- a", "--backend=one://top --lock=both --wait=1h --verbose=2 --job=both --quiet=false -- a"},
		{"", "--job= -- a", "error: option --job has an empty value"},
	} {
		t.Run(tt.vars+" "+tt.args, func(t *testing.T) {
			t.Setenv("LEADERRUN_CONFIG", file)
			for v := range strings.FieldsSeq(tt.vars) {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			routed := append([]string{"leaderrun", "run"}, strings.Fields(tt.args)...)
			want := append([]string{"leaderrun", "run"}, strings.Fields(tt.want)...)
			got, err := testProgram(io.Discard).configure(slices.Clone(routed))
			if text, ok := strings.CutPrefix(tt.want, "error: "); ok {
				if err == nil || !strings.HasSuffix(err.Error(), text) {
					t.Errorf("got %v, want an error with %q", err, text)
				}
				return
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("got  %q, %v\nwant %q", got, err, want)
			}
		})
	}
}

// TestDefaultConfigs: only absolute directories count, the user's before the
// machine's, and a file that is not there is passed over.
func TestDefaultConfigs(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "relative")
	t.Setenv("AppData", filepath.Join(home, ".config"))
	own := filepath.Join(home, ".config", "leaderrun", "config.yaml")
	if got := defaultConfigs(); got[0] != own || len(got) > 1 && !strings.HasSuffix(filepath.ToSlash(got[1]), "/leaderrun/config.yaml") {
		t.Errorf("got %q, want %q first", got, own)
	}
	xdg := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", xdg)
	if got, want := defaultConfigs()[0], filepath.Join(xdg, "leaderrun", "config.yaml"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := os.MkdirAll(filepath.Join(xdg, "leaderrun", "config.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := openConfig(""); err == nil {
		t.Error("a default that is there, and no file, is passed over")
	}
}

// TestNoDirectoryForConfig: a default file is not there, either, if what should be
// its directory is a file.
func TestNoDirectoryForConfig(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	if err := os.WriteFile(filepath.Join(home, "leaderrun"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openConfig(""); err != nil {
		t.Error(err)
	}
}

// TestConfigSize: a file that is too long is refused, and not read.
func TestConfigSize(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "c.yaml")
	for size, want := range map[int]bool{maxConfig: true, maxConfig + 1: false} {
		if err := os.WriteFile(file, []byte("#"+strings.Repeat("x", size-1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openConfig(file); (err == nil) != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
