package reload_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/kit/reload"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestValue: a value is what the files contain now, or if they cannot be read, what they
// contained before. The log has each reason once.
func TestValue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	parsed, errEmpty := 0, errors.New("nothing")
	parse := func(contents [][]byte) (string, error) {
		parsed++
		if len(contents[1]) == 0 {
			return "half", errEmpty
		}
		return string(contents[0]) + string(contents[1]), nil
	}
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(one, "a")
	if _, err := reload.Open("setting", parse, one, two); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "setting: ") {
		t.Errorf("one file is missing: %v", err)
	}
	write(two, "")
	if _, err := reload.Open("setting", parse, one, two); !errors.Is(err, errEmpty) || err.Error() != "setting: nothing in "+one+" and "+two {
		t.Errorf("one file is empty: %v", err)
	}
	write(two, "b")
	v, err := reload.Open("setting", parse, one, two)
	if err != nil {
		t.Fatal(err)
	}
	var log drive.Log
	for i, step := range []struct {
		change         func()
		want           string
		logged, parsed int // how often, in total
	}{
		{func() {}, "ab", 0, 2},
		{func() { write(one, "c") }, "cb", 0, 3},
		{func() { write(two, "") }, "cb", 1, 4},
		{func() {}, "cb", 1, 5},
		{func() { _ = os.Remove(two) }, "cb", 2, 5},
		{func() { write(two, "b") }, "cb", 2, 5},
		{func() { write(two, "") }, "cb", 3, 6},
	} {
		step.change()
		got := v.Now(slog.New(slog.NewTextHandler(&log, nil)))
		if logged := strings.Count(log.String(), `err="setting: `); got != step.want || logged != step.logged || parsed != step.parsed {
			t.Errorf("step %d: got %q, logged %d times, parsed %d times; want %+v", i, got, logged, parsed, step)
		}
	}
	_ = os.Remove(two)
	none, err := reload.Open("setting", parse, "")
	if got := v.Now(nil) + none.Now(nil); got != "cb" || err != nil {
		t.Errorf("without a log, and without a file: %q, %v", got, err)
	}
}

// TestSecret reads a file with a secret, to which others have access or not.
func TestSecret(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	parse := func(contents [][]byte) (string, error) { return string(contents[0]), nil }
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := reload.OpenSecret("password-file", parse, file)
	if err != nil || v.Now(nil) != "x" {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]string{0o400: "", 0o440: "", 0o640: "", 0o604: "read by anyone", 0o602: "written by anyone", 0o666: "written by anyone"} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := reload.OpenSecret("password-file", parse, file); (err == nil) != (want == "") || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("mode %o: %v; want %q", mode, err, want)
		}
		if got := v.Now(nil); got != "x" {
			t.Errorf("mode %o: the value has become %q", mode, got)
		}
	}
	if v, err := reload.OpenSecret("password-file", parse, ""); v != nil || err != nil {
		t.Errorf("without a file: %v, %v", v, err)
	}
}
