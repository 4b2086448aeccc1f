package tester

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestForget(t *testing.T) {
	with, without := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(with, "leaderrun-etcd"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", strings.Join([]string{with, without}, string(filepath.ListSeparator)))
	for name, stays := range map[string]bool{"LEADERRUN_BACKEND": false, "ETCDCTL_ENDPOINTS": false, "ZK_HOSTS": false, "PGHOST": false, "LEADERRUN_TEST_LONG": true, "ETCD_NAME": true} {
		t.Setenv(name, "x")
		defer func() {
			if _, ok := os.LookupEnv(name); ok != stays {
				t.Errorf("%s is set: %v; want %v", name, ok, stays)
			}
		}()
	}
	Forget()
	if got := os.Getenv("PATH"); got != without {
		t.Errorf("PATH is %s; want %s", got, without)
	}
}
