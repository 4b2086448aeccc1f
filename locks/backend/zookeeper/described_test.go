package zookeeper

import (
	"net/url"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &known.ZooKeeper, "zk://h:1/p", func(u *url.URL, getenv func(string) string) (any, error) {
		return parse(u, getenv)
	})
}

// TestTool checks that no variable of ZooKeeper's own tools is ignored without a reason.
func TestTool(t *testing.T) {
	t.Parallel()
	backendtest.Tool(t, "testdata/zkcli.txt", backendtest.Variable(&known.ZooKeeper))
}
