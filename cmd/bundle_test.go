//go:build bundle

package cmd

import (
	"slices"
	"testing"
)

// TestBundleHasEveryBackend sees what the scripts do not: they would pass with
// the helper program, too.
func TestBundleHasEveryBackend(t *testing.T) {
	t.Parallel()
	linked := NewEnv("").Registry.Schemes()
	for _, b := range known {
		if !slices.Contains(linked, b.Scheme) {
			t.Errorf("the bundle does not link %s", b.Scheme)
		}
	}
}
