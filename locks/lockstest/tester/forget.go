// Package tester keeps what a tester has set, or installed, away from tests.
package tester

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ours begins the names of the tests' own variables.
const ours = "LEADERRUN_TEST_"

// theirs begin the names of variables that leaderrun, its backends and their SDKs read.
var theirs = []string{"LEADERRUN_", "AZURE_", "CONSUL_", "ETCDCTL_", "KUBE", "POD_NAMESPACE", "MYSQL_", "ZK_", "GOOGLE_", "CLOUDSDK_", "GCE_", "STORAGE_EMULATOR_HOST", "SPANNER_EMULATOR_HOST", "PG"}

// Forget removes the tester's settings for leaderrun and its backends from the
// environment of this process, and directories with helper programs from PATH. It is for
// TestMain.
func Forget() {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, ours) && slices.ContainsFunc(theirs, func(p string) bool { return strings.HasPrefix(name, p) }) {
			_ = os.Unsetenv(name)
		}
	}
	_ = os.Setenv("PATH", withoutHelpers(os.Getenv("PATH")))
}

func withoutHelpers(path string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool {
		found, _ := filepath.Glob(filepath.Join(dir, "leaderrun-*")) // the pattern is valid
		return len(found) > 0
	})
	return strings.Join(dirs, string(filepath.ListSeparator))
}
