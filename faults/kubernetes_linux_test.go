package faults

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/kubernetes/kubetest"
)

// kubernetesStore is an API server. In strict mode an operator deletes the Lease.
func kubernetesStore(t *testing.T, p plan) *store {
	s := kubetest.Start(t)
	namespace := s.Namespace()
	all := serverFaults(s)
	if p.strict {
		lease := kubetest.Leases(namespace) + "/" + lockName
		all = append(all, fault{"lease deleted", func(*nemesis, *machine) bool { return s.Try(http.MethodDelete, lease, nil) == http.StatusOK }})
	}
	return &store{
		servers: []string{s.Addr()}, http: true, faults: all,
		env: func(addrs []string) []string {
			return []string{"LEADERRUN_BACKEND=" + s.URL(addrs[0], namespace, kubetest.AsAdmin()).String()}
		},
	}
}

// elector takes part in a leader election of client-go for the Lease, and runs a command while it
// leads. Each has a name of its own: under that of another, it would lead at once.
var elector = peer{
	name: "client-go", backend: "kubernetes", subject: "client-go elector",
	store: electorStore,
	args: func(m *machine) []string {
		u, err := url.Parse(strings.TrimPrefix(m.c.store.env(m.Addrs())[0], "LEADERRUN_BACKEND="))
		m.must(err)
		return []string{kubetest.Elector(m.c.t), u.Query().Get("kubeconfig"), path.Base(u.Path), lockName, rand.Text(), fmt.Sprint(ttl.Seconds())}
	},
}

// electorStore skips the test here if there is no elector.
func electorStore(t *testing.T, p plan) *store {
	kubetest.Elector(t)
	return kubernetesStore(t, p)
}
