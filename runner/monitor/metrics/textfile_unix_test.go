//go:build unix

package metrics

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestUmask checks that the umask decides who can read the file. It does not run in parallel
// with others: there is one umask for all.
func TestUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	file := filepath.Join(t.TempDir(), "x.prom")
	for umask, want := range map[int]os.FileMode{0o022: 0o644, 0o077: 0o600, 0o027: 0o640} {
		syscall.Umask(umask)
		if err := replace(file, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode() != want {
			t.Errorf("umask %o: got %v, %v; want %v", umask, info.Mode(), err, want)
		}
	}
}
