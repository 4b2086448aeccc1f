package etcd

import (
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &known.Etcd, "etcd://h:1/p", func(u *url.URL, getenv func(string) string) (any, error) {
		return parse(u, getenv)
	})
}

// TestTool checks that no variable of etcdctl is ignored without a reason.
func TestTool(t *testing.T) {
	t.Parallel()
	backendtest.Tool(t, "testdata/etcdctl.txt", backendtest.Variable(&known.Etcd))
	flag := regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)`)
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var asked []string
			for _, command := range []string{"help", "options"} { // before 3.7, help has the global flags
				out, _ := exec.Command(etcdtest.Binary(t, version, "etcdctl"), command).CombinedOutput()
				for _, m := range flag.FindAllStringSubmatch(string(out), -1) {
					asked = append(asked, "ETCDCTL_"+strings.ToUpper(strings.ReplaceAll(m[1], "-", "_")))
				}
			}
			asked = slices.DeleteFunc(asked, func(name string) bool { return name == "ETCDCTL_HELP" })
			if !slices.Contains(asked, "ETCDCTL_ENDPOINTS") {
				t.Fatalf("etcdctl says that its variables are %q", asked)
			}
			backendtest.Tool(t, "testdata/etcdctl.txt", backendtest.Variable(&known.Etcd), asked...)
		})
	}
}
