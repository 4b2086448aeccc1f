package cmd

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/cmd/output"
)

// TestHelp checks that the help of each subcommand fits 80 columns and has all options.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, c := range Commands() {
		var b strings.Builder
		if err := printHelp(&b, c); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > output.Width {
				t.Errorf("%s: %d columns: %s", c.Name, n, line)
			}
			if strings.HasSuffix(line, " ") {
				t.Errorf("%s: a blank at the end: %q", c.Name, line)
			}
		}
		for _, o := range c.Options() {
			if shown := strings.Contains(b.String(), "--"+o.Name); shown == o.Hidden {
				t.Errorf("%s: is --%s in its help? %v", c.Name, o.Name, shown)
			}
		}
	}
}

// TestShortHelp: the help that --help prints fits a screen and a half, and has exactly the
// common options.
func TestShortHelp(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	run := Commands()[0]
	if err := printShort(&b, run); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) > 38 {
		t.Errorf("%d lines; want 38 at most", len(lines))
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 100 || strings.HasSuffix(line, " ") {
			t.Errorf("%d columns, or a blank at the end: %q", n, line)
		}
	}
	if !strings.Contains(lines[0], "Without --backend the lock covers one user on this machine") {
		t.Errorf("the first line does not say what is locked without a backend: %s", lines[0])
	}
	for _, o := range run.Options() {
		if shown := strings.Contains(b.String(), " --"+o.Name+" "); shown != o.Common {
			t.Errorf("is --%s in the short help? %v", o.Name, shown)
		}
		if o.Common && labels[o.Group] == "" {
			t.Errorf("%s has no label", o.Group)
		}
	}
}

func TestPrintColumnsWraps(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	printColumns(&b, 29, output.Width, "      --an-option-with-a-long-name VALUE", strings.Repeat("word ", 20))
	want := "      --an-option-with-a-long-name VALUE\n" +
		strings.Repeat(" ", 29) + strings.Repeat(" word", 10) + "\n" +
		strings.Repeat(" ", 29) + strings.Repeat(" word", 10) + "\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}
