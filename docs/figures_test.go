package docs

import (
	"os"
	"strings"
	"testing"
)

// TestFigures checks that README.md repeats the summaries of what was measured. No other
// document has measured figures, because nobody would correct them.
func TestFigures(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("..")
	for _, page := range []string{"faults/RESULTS.md", "bench/RESULTS.md"} {
		_, rest, found := strings.Cut(read(t, tree, page), "\n## Summary\n\n")
		summary, _, _ := strings.Cut(rest, "\n\n## ")
		if !found || !strings.Contains(read(t, tree, "README.md"), summary) {
			t.Errorf("README.md lacks the summary of %s, which is\n\n%s", page, summary)
		}
	}
}
