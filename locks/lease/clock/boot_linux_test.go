package clock

import (
	"os"
	"strings"
	"testing"
)

// TestEpoch: the epoch is what the kernel says about the boot and the time namespace.
func TestEpoch(t *testing.T) {
	t.Parallel()
	words := func(path string) []string {
		b, _ := os.ReadFile(path)
		return strings.Fields(string(b))
	}
	boot, offsets := words("/proc/sys/kernel/random/boot_id"), words("/proc/self/timens_offsets")
	if len(boot) != 1 || BootID() != boot[0] {
		t.Errorf("the boot is %q, want %q", BootID(), boot)
	}
	if got, want := Epoch(), boot[0]+" "+strings.Join(offsets, " "); got != want {
		t.Errorf("the epoch is %q, want %q", got, want)
	}
	for _, path := range []string{"/nowhere", "/proc"} {
		if got := read(path); got != "" || exists(path) != (path == "/proc") {
			t.Errorf("%s: read %q; it exists: %t", path, got, exists(path))
		}
	}
}

// TestReadCloses: who asks for the epoch again and again keeps no files open.
func TestReadCloses(t *testing.T) {
	t.Parallel()
	files := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(all)
	}
	before := files()
	for range 1000 {
		BootID()
	}
	if n := files() - before; n > 500 {
		t.Errorf("%d files more are open", n) // other tests open fewer
	}
}
