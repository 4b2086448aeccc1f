package faults

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
)

const consulKey = "/v1/kv/leaderrun/" + lockName

func consulSingle(t *testing.T, p plan) *store {
	return consulStore(consultest.Cluster{consultest.Start(t, consultest.Options{})}, nil, p)
}

// consulCompat is a server whose locks are those of consul lock.
func consulCompat(t *testing.T, p plan) *store {
	s := consulSingle(t, p)
	s.env = func(addrs []string) []string { return backend("consul", addrs, "?compat=consul-lock") }
	return s
}

func consulCluster(t *testing.T, p plan) *store {
	l := newLinks(t, 3)
	return consulStore(consultest.StartCluster(t, 3, consultest.Options{Places: l.places()}), l, p)
}

// consulStore is a server, or several, of which all runs name the first.
func consulStore(c consultest.Cluster, l links, p plan) *store {
	s := &store{servers: []string{c[0].Addr()}, http: true, env: func(addrs []string) []string { return backend("consul", addrs, "") }}
	for _, server := range c {
		s.faults = append(s.faults, serverFaults(server)...)
	}
	if len(c) > 1 {
		s.faults = append(s.faults, leaderFaults(c.Leader)...)
		s.faults = append(s.faults, linkFaults(l, c, c.Leader)...)
	}
	if p.strict {
		s.faults = append(s.faults,
			consulEviction(c[0], "lock deleted", func(string) { c[0].Ask(http.MethodDelete, consulKey, "") }),
			consulEviction(c[0], "session destroyed", func(session string) { c[0].Ask(http.MethodPut, "/v1/session/destroy/"+session, "") }),
			consulEviction(c[0], "node deregistered", func(string) {
				c[0].Ask(http.MethodPut, "/v1/catalog/deregister", `{"Node": "`+c[0].Node+`"}`)
			}))
	}
	return s
}

// consulEviction ends a running term.
func consulEviction(s *consultest.Server, name string, evict func(session string)) fault {
	return fault{name, func(*nemesis, *machine) bool {
		var all []struct{ Session string }
		if json.Unmarshal([]byte(s.Ask(http.MethodGet, consulKey, "")), &all) != nil || len(all) == 0 || all[0].Session == "" {
			return false // nobody has the lock
		}
		evict(all[0].Session)
		return true
	}}
}
