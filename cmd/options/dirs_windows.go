package options

import (
	"os"
	"path/filepath"
)

func userConfigDir() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return os.Getenv("AppData")
}

func systemConfigs() []string {
	if dir := os.Getenv("ProgramData"); filepath.IsAbs(dir) {
		return []string{filepath.Join(dir, "leaderrun", "config.yaml")}
	}
	return nil
}

func isNotDir(error) bool { return false }
