package testscripts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSuites: each row of suites.md has three columns, and each script and test that it
// names exists. A test is one of this package, or of the folder that its name begins with.
// Only what leaderrun does not have needs no test.
func TestSuites(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("suites.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for n, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasSuffix(line, "| tested by |") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 3 {
			t.Errorf("suites.md:%d: %d columns", n+1, len(cells))
			continue
		}
		if strings.TrimSpace(cells[2]) == "–" && strings.Contains(cells[1], "no such ") {
			continue
		}
		for name := range strings.SplitSeq(cells[2], ",") {
			if name = strings.Trim(name, " `"); !isTest(t, name) {
				t.Errorf("suites.md:%d: there is no %q", n+1, name)
			}
		}
	}
	if rows < 80 {
		t.Errorf("only %d rows were found", rows)
	}
}

// isTest reports whether there is a script NAME.txtar, or a test [FOLDER/]NAME.
func isTest(t *testing.T, name string) bool {
	t.Helper()
	if strings.HasSuffix(name, ".txtar") {
		_, err := os.Stat(name)
		return err == nil
	}
	folder, test := filepath.Split(name)
	if _, err := os.Stat(filepath.Clean(folder)); err != nil {
		folder = filepath.Join("..", folder)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	defined := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(test) + `\(`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(test, "Test") && defined.Match(text) {
			return true
		}
	}
	return false
}
