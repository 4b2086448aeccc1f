package cmd

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/cmd/output"
)

// TestHelp checks that the help of each subcommand fits 80 columns and leaves
// no option out.
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

func TestPrintOptionWraps(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	printOption(&b, "    --an-option-with-a-long-name VALUE", strings.Repeat("word ", 20))
	want := "      --an-option-with-a-long-name VALUE\n" +
		strings.Repeat(" ", 29) + strings.Repeat(" word", 10) + "\n" +
		strings.Repeat(" ", 29) + strings.Repeat(" word", 10) + "\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}
