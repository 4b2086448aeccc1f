package metrics

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/runner/monitor/metrics/feed"
)

// TestDirectoryIsLocked writes a file while another run holds the lock on the directory: we
// wait for it, but not forever.
func TestDirectoryIsLocked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.prom")
	f, err := openTextfile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, feed.Open{})
	unlock := lockDir(filepath.Dir(file))
	start := time.Now()
	if err := f.write(r.registry, "nightly", true); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < lockPatience {
		t.Errorf("it was written after %v; want that another one is waited for", took)
	}
	unlock()
	parsed(t, file)
}
