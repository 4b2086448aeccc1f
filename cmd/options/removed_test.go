package options

import (
	"slices"
	"testing"
)

// TestRemoved: what is said to be removed, or to be another tool's, is not there.
func TestRemoved(t *testing.T) {
	t.Parallel()
	for _, o := range NewValues().Table() {
		if removed[o.Name] != "" || foreign[o.Name] != "" {
			t.Errorf("--%s is there", o.Name)
		}
		if words := o.Words(); slices.ContainsFunc(words, func(w string) bool { return removed[o.Name+"="+w] != "" }) {
			t.Errorf("--%s: %q", o.Name, words)
		}
	}
}
