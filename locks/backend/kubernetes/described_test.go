package kubernetes

import (
	"net/url"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &known.Kubernetes, "k8s://c/n", func(u *url.URL, getenv func(string) string) (any, error) {
		return parse(u, getenv)
	})
}

// TestTool checks that no variable of kubectl is ignored without a reason.
func TestTool(t *testing.T) {
	t.Parallel()
	backendtest.Tool(t, "testdata/kubectl.txt", backendtest.Variable(&known.Kubernetes))
}
