package doctor

import (
	"os"
	"path/filepath"
	"strings"
)

// systemdVersion reports whether systemd has started this machine, as sd_booted(3) does. It
// takes the version from the name of the library that systemd's programs share, because
// asking systemd would need another program.
func systemdVersion(root string) (version string, running bool) {
	info, err := os.Stat(filepath.Join(root, "run/systemd/system"))
	if err != nil || !info.IsDir() {
		return "", false
	}
	for _, dir := range []string{"usr/lib/systemd", "usr/lib64/systemd", "usr/lib/*/systemd", "lib/systemd"} {
		found, _ := filepath.Glob(filepath.Join(root, dir, "libsystemd-shared-*.so")) // the pattern is valid
		if len(found) > 0 {
			name := filepath.Base(found[0])
			return strings.TrimSuffix(strings.TrimPrefix(name, "libsystemd-shared-"), ".so"), true
		}
	}
	return "", true
}
