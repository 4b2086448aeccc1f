package helper

import (
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest"
)

// TestConformance runs the suite on the file backend in a helper, where the death
// of the helper is the end of the lock.
func TestConformance(t *testing.T) {
	programs := stageFor(t, "file")
	lockstest.Run(t, lockstest.Config{
		Open: programs.Open,
		URL: func(t *testing.T) *url.URL {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			return &url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, "locks"))}
		},
		Abilities: []locks.Ability{locks.CanInspect, locks.CanRecord, locks.CanAsk},
		AskDelay:  2 * time.Second, // where the file backend cannot watch
		Crash: func(_ *testing.T, _ *url.URL, _ string, l locks.Lock) {
			l.(*Lock).process.kill()
		},
	})
}
