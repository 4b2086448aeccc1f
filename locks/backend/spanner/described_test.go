package spanner

import (
	"net/url"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &known.Spanner, "spanner://p-1/i-1/d-1", func(u *url.URL, getenv func(string) string) (any, error) {
		return parse(u, getenv)
	})
}

// TestTool checks that no variable of the service's own tools is ignored without a reason.
func TestTool(t *testing.T) {
	t.Parallel()
	backendtest.Tool(t, "testdata/gcloud.txt", backendtest.Variable(&known.Spanner))
}
