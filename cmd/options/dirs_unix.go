//go:build unix

package options

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// userConfigDir follows the XDG base directory specification, also on macOS: a relative
// $XDG_CONFIG_HOME is ignored.
func userConfigDir() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if home := os.Getenv("HOME"); home != "" {
		return filepath.Join(home, ".config")
	}
	return ""
}

func systemConfigs() []string { return []string{"/etc/leaderrun/config.yaml"} }

// isNotDir reports that a part of a path is no directory, and so nothing there.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
