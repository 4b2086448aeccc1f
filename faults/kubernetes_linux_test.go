package faults

import (
	"net/http"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/kubernetes/kubetest"
)

// kubernetesStore is an API server, and in strict mode also those who end terms: an operator, and
// an elector of client-go that takes the Lease.
func kubernetesStore(t *testing.T, p plan) *store {
	s := kubetest.Start(t)
	namespace := s.Namespace()
	lease := kubetest.Leases(namespace) + "/" + lockName
	all := serverFaults(s)
	if p.strict {
		all = append(all,
			fault{"lease deleted", func(*nemesis, *machine) bool { return s.Try(http.MethodDelete, lease, nil) == http.StatusOK }},
		)
	}
	return &store{
		servers: []string{s.Addr()}, http: true, faults: all,
		env: func(addrs []string) []string {
			return []string{"LEADERRUN_BACKEND=" + s.URL(addrs[0], namespace, kubetest.AsAdmin()).String()}
		},
	}
}
