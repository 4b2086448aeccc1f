package options

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
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

// TestResolve: the value of the highest rank applies, and of two options that contradict
// each other the one of the higher rank.
func TestResolve(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte(settingsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ vars, args, want string }{
		{"", "-- a", "backend=one://top wait=1h verbose=1 -- a"},
		{"", "--job=j --", "backend=two://job lock=j wait=1h verbose=1 job=j -- from job"},
		{"", "--job=j -- a b", "backend=two://job lock=j wait=1h verbose=1 job=j -- a b"},
		{"", "--job=j --command=x --", "backend=two://job lock=j wait=1h command=x verbose=1 job=j --"},
		{"LEADERRUN_COMMAND=x", "--job=j --", "backend=two://job lock=j wait=1h command=x verbose=1 job=j --"},
		{"LEADERRUN_COMMAND=x", "--job=j -- a", "backend=two://job lock=j wait=1h verbose=1 job=j -- a"},
		{"", "--backend=file --lock=x --job=j -- a", "backend=file lock=x wait=1h verbose=1 job=j -- a"},
		{"LEADERRUN_BACKEND=file LEADERRUN_LOCK=x", "--job=j -- a", "backend=file lock=x wait=1h verbose=1 job=j -- a"},
		{"LEADERRUN_LOCK=x", "--lock=y --lock=z -- a", "backend=one://top lock=z wait=1h verbose=1 -- a"},
		{"LEADERRUN_BACKEND= LEADERRUN_JOB=j", "-- a", "backend=two://job lock=j wait=1h verbose=1 job=j -- a"},
		{"LEADERRUN_JOB=now", "--job=j -- a", "backend=two://job lock=j wait=1h verbose=1 job=j -- a"},
		{"", "--job=now -- a", "backend=one://top lock=now nonblock=true quiet=true job=now -- a"},
		{"", "--job=now --wait=5 -- a", "backend=one://top lock=now wait=5 quiet=true job=now -- a"},
		{"LEADERRUN_WAIT=5", "--job=now --verbose=2 -- a", "backend=one://top lock=now wait=5 verbose=2 job=now -- a"},
		{"", "--job=now --nonblock=false -- a", "backend=one://top lock=now nonblock=false wait=1h quiet=true job=now -- a"},
		{"", "--nonblock=true -- a", "backend=one://top nonblock=true verbose=1 -- a"},
		{"LEADERRUN_NONBLOCK=true", "-- a", "backend=one://top nonblock=true verbose=1 -- a"},
		{"LEADERRUN_NONBLOCK=false", "-- a", "backend=one://top nonblock=false wait=1h verbose=1 -- a"},
		{"", "--job=off -- a", "backend=one://top lock=L nonblock=false wait=1h verbose=1 job=off -- a"},
		{"", "--job=both -- a", "error: :17: quiet and verbose contradict each other"},
		{"", "--job=both --quiet=false -- a", "backend=one://top lock=both wait=1h verbose=2 quiet=false job=both -- a"},
		{"", "--verbose --quiet -- a", "backend=one://top wait=1h quiet=true -- a"},
		{"", "--wait=5 --nonblock -- a", "backend=one://top nonblock=true verbose=1 -- a"},
		{"LEADERRUN_NONBLOCK=true LEADERRUN_WAIT=5", "-- a", "backend=one://top nonblock=true verbose=1 -- a"},
		{"LEADERRUN_NONBLOCK=true", "--wait=5 -- a", "backend=one://top wait=5 verbose=1 -- a"},
		{"", "--job= -- a", "error: option --job has an empty value"},

		{"LEADERRUN_ONCE_PER=day", "--rejoin -- a", "backend=one://top rejoin=true verbose=1 -- a"},
		{"LEADERRUN_ONCE_PER=day LEADERRUN_ONCE_PER_ATTEMPT=true", "--rejoin -- a", "backend=one://top rejoin=true verbose=1 -- a"},
		{"LEADERRUN_ONCE_PER=day", "--once-per-attempt --rejoin -- a", "backend=one://top once-per-attempt=true rejoin=true verbose=1 -- a"},
		{"LEADERRUN_ONCE_PER=day", "--rejoin=false -- a", "backend=one://top wait=1h once-per=day rejoin=false verbose=1 -- a"},
		{"LEADERRUN_REJOIN=true", "--once-per= -- a", "backend=one://top once-per= rejoin=true verbose=1 -- a"},
		{"LEADERRUN_REJOIN=true", "--once-per=day --wait=1 -- a", "backend=one://top wait=1 once-per=day verbose=1 -- a"},
		{"LEADERRUN_REJOIN=true LEADERRUN_ONCE_PER=day", "-- a", "error: --once-per runs the job once, --rejoin again and again"},
		{"LEADERRUN_REJOIN=true LEADERRUN_ONCE_PER=day", "--nonblock -- a", "backend=one://top nonblock=true once-per=day verbose=1 -- a"},
		{"LEADERRUN_RESTART=always LEADERRUN_GIVE_UP_AFTER=3", "--once-per=day -- a", "backend=one://top wait=1h once-per=day verbose=1 -- a"},
		{"LEADERRUN_RESTART=on-failure LEADERRUN_GIVE_UP_AFTER=3", "--once-per=day -- a", "backend=one://top wait=1h once-per=day restart=on-failure give-up-after=3 verbose=1 -- a"},
	} {
		t.Run(tt.vars+" "+tt.args, func(t *testing.T) {
			t.Setenv("LEADERRUN_CONFIG", file)
			for v := range strings.FieldsSeq(tt.vars) {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			l, err := Read(strings.Fields(tt.args), []*Command{{Name: "run", Job: true, Define: func() ([]Option, func(*Invocation) error) {
				return NewValues().Table(), nil
			}}})
			if err != nil {
				t.Fatal(err)
			}
			r, err := Resolve(l)
			if text, ok := strings.CutPrefix(tt.want, "error: "); ok || err != nil {
				if !ok || err == nil || !strings.HasSuffix(err.Error(), text) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				return
			}
			var got []string
			for _, s := range r.Settings {
				if s.Rank > Default && s.Name != "config" {
					got = append(got, s.Name+"="+s.Text)
				}
			}
			if got := strings.Join(slices.Concat(got, []string{"--"}, r.Args), " "); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestDo: the values are those that apply, and options that were dropped have their
// defaults.
func TestDo(t *testing.T) {
	t.Setenv("LEADERRUN_WAIT", "1h")
	t.Setenv("LEADERRUN_LOCK", "x")
	t.Setenv("LEADERRUN_BACKEND", "")
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("ttl: 20\nlock: y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := NewValues()
	c := &Command{Name: "run", Job: true, Define: func() ([]Option, func(*Invocation) error) {
		return v.Table(), func(*Invocation) error { return nil }
	}}
	l, err := Read([]string{"-nE0", "-s", "KILL", "-vv", "--config", file}, []*Command{c})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Resolve(l)
	if err == nil {
		err = c.Do(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !v.Nonblock || v.Wait.Given || v.Lock != "x" || v.Backend != "file" || v.Verbose != 2 || v.Conflict.N != 0 || !v.Conflict.Given || v.Signal.Signal != syscall.SIGKILL || v.TTL.D != 20*time.Second {
		t.Errorf("got %+v", v)
	}
}

// TestDefaultConfigs: only absolute directories are used, the user's before the machine's,
// and a missing file is ignored.
func TestDefaultConfigs(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "relative")
	own := filepath.Join(home, ".config", "leaderrun", "config.yaml")
	if got, want := defaultConfigs(), []string{own, systemConfig}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
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
		t.Error("a default that exists but is not a file was ignored")
	}
}

// TestNoDirectoryForConfig: a default file is also missing if its directory is a file.
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

// TestConfigSize: a file that is too long is an error, and is not read.
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
