package doctor

import (
	"os"
	"path/filepath"
	"strings"
)

// systemdVersion reports whether systemd has started this machine, as
// sd_booted(3) does, and its version, by the name of the library that all of its
// programs share: to ask it would take a program of its own.
func systemdVersion(root string) (version string, running bool) {
	info, err := os.Stat(filepath.Join(root, "run/systemd/system"))
	if err != nil || !info.IsDir() {
		return "", false
	}
	for _, dir := range []string{"usr/lib/systemd", "usr/lib64/systemd", "usr/lib/*/systemd", "lib/systemd"} {
		found, _ := filepath.Glob(filepath.Join(root, dir, "libsystemd-shared-*.so")) // the pattern is sound
		if len(found) > 0 {
			name := filepath.Base(found[0])
			return strings.TrimSuffix(strings.TrimPrefix(name, "libsystemd-shared-"), ".so"), true
		}
	}
	return "", true
}
