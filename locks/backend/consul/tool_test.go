package consul

import (
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// TestTool checks that no variable of the program consul is ignored without a reason.
func TestTool(t *testing.T) {
	t.Parallel()
	described := backendtest.Variable(&known.Consul)
	backendtest.Tool(t, "testdata/consul.txt", described)
	out, _ := exec.Command(consultest.Binary(t), "lock", "-help").CombinedOutput()
	asked := regexp.MustCompile(`CONSUL_[A-Z_]+`).FindAllString(string(out), -1)
	if !slices.Contains(asked, "CONSUL_HTTP_ADDR") {
		t.Fatalf("consul says that its variables are %q", asked)
	}
	backendtest.Tool(t, "testdata/consul.txt", described, asked...)
}
