package options

import (
	"slices"
	"testing"
)

// TestRemoved: what is said to be removed is not there.
func TestRemoved(t *testing.T) {
	t.Parallel()
	for _, o := range NewValues().Table() {
		if _, is := removed[o.Name]; is {
			t.Errorf("--%s is there", o.Name)
		}
		if words := o.Words(); slices.ContainsFunc(words, func(w string) bool { return removed[o.Name+"="+w] != "" }) {
			t.Errorf("--%s: %q", o.Name, words)
		}
	}
}
