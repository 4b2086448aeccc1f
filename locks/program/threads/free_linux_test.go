package threads

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFreeInCgroups checks that the tightest limit of our cgroups and those above them
// counts.
func TestFreeInCgroups(t *testing.T) {
	t.Parallel()
	const own = "9:name=systemd:/other\n8:pids:/old/a\n0::/new/a\n"
	for _, tt := range []struct {
		limits map[string]string
		want   int
	}{
		{nil, many},
		{map[string]string{"new/a": "max", "new": "max"}, many},
		{map[string]string{"new/a": "9", "new": "max"}, 5},
		{map[string]string{"new/a": "max", "new": "9"}, 5},
		{map[string]string{"new/a": "100000", "": "9"}, 5},
		{map[string]string{"new/a": "9", "new": "7"}, 3},
		{map[string]string{"new/a": "3"}, -1},
		{map[string]string{"pids/old/a": "9", "new/a": "12"}, 5},
		{map[string]string{"pids/old": "9"}, 5},
		{map[string]string{"new/b": "9", "other": "9", "pids/new/a": "9"}, many},
	} {
		root := t.TempDir()
		for dir, limit := range tt.limits {
			dir = filepath.Join(root, dir)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"pids.max": limit, "pids.current": "4"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := freeInCgroups(root, own); got != tt.want {
			t.Errorf("%v: %d are free, want %d", tt.limits, got, tt.want)
		}
	}
	if got := freeInCgroups(t.TempDir(), "0::/../a\nnonsense\n"); got != many {
		t.Errorf("without visible limits %d are free", got)
	}
}
