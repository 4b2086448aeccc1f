// Package breaking breaks a rule in the source of a package, to check that its tests
// notice.
package breaking

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// Find replaces old in one file of the package under test, and checks that a test then
// fails. That takes one build each. Without LEADERRUN_TEST_LONG=1, Find only checks that
// old is there.
func Find(t *testing.T, file, old, with, test string) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), old); n != 1 {
		t.Fatalf("%s has %q %d times", file, old, n)
	}
	if !tester.Long() {
		return
	}
	out := run(t, file, strings.Replace(string(source), old, with, 1), test)
	if !strings.Contains(out, "--- FAIL") && !strings.Contains(out, "deadlock") && !strings.Contains(out, "panic: ") {
		t.Errorf("%s does not notice:\n%s", test, out)
	}
}

// run runs a test with a changed source of one file.
func run(t *testing.T, file, source, test string) string {
	t.Helper()
	dir := t.TempDir()
	other, overlay := filepath.Join(dir, file), filepath.Join(dir, "overlay.json")
	here, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	replace, _ := json.Marshal(map[string]map[string]string{"Replace": {here: other}})
	for name, text := range map[string]string{other: source, overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-count", "1", "-vet=off", "-timeout", "60s", "-overlay", overlay, "-run", test, ".")
	cmd.Env = append(os.Environ(), "LEADERRUN_TEST_LONG=")
	out, err := cmd.CombinedOutput()
	if err == nil || strings.Contains(string(out), "[build failed]") {
		t.Errorf("go test: %v\n%s", err, out)
	}
	return string(out)
}
