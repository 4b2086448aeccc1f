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

// consulAgents is a server, and an agent for each host. A host's sessions end when the node of its
// agent leaves. If the agent is dead, nobody tells the holder, and only how long others watch its key
// excludes them.
func consulAgents(t *testing.T, p plan) *store {
	// A dead agent is known to be dead within a second.
	server := consultest.Start(t, consultest.Options{HCL: []string{`gossip_lan { probe_interval = "200ms" probe_timeout = "100ms" suspicion_mult = 2 }`}})
	s := consulStore(consultest.Cluster{server}, nil, p)
	s.servers, s.own, s.named = nil, true, false
	agents := map[string]*consultest.Server{} // by node
	for range p.machines() {
		a := server.Agent()
		s.servers = append(s.servers, a.Addr())
		agents[a.Node] = a
	}
	ofHolder := func(name string, harm func(*nemesis, *consultest.Server) bool) fault {
		return fault{name, func(n *nemesis, _ *machine) bool {
			session := consulHolder(server)
			if session == "" {
				return false
			}
			var all []struct{ Node string }
			_ = json.Unmarshal([]byte(server.Ask(http.MethodGet, "/v1/session/info/"+session, "")), &all)
			return len(all) > 0 && harm(n, agents[all[0].Node]) // or it has just ended
		}}
	}
	forced := func(how string, down, up func(*consultest.Server)) fault {
		return ofHolder("agent "+how+", its node forced to leave", func(n *nemesis, a *consultest.Server) bool {
			n.length = max(n.length, ttl)
			down(a)
			server.Ask(http.MethodPut, "/v1/agent/force-leave/"+a.Node, "")
			n.pass()
			up(a)
			a.WaitReady()
			return true
		})
	}
	s.faults = append(s.faults,
		consulEviction(server, "session destroyed", func(session string) { server.Ask(http.MethodPut, "/v1/session/destroy/"+session, "") }),
		ofHolder("agent leaves", func(n *nemesis, a *consultest.Server) bool { return restart(n, a, a.Stop) }),
		ofHolder("agent killed", func(n *nemesis, a *consultest.Server) bool { return restart(n, a, a.Kill) }),
		forced("killed", (*consultest.Server).Kill, (*consultest.Server).Start),
		forced("frozen", (*consultest.Server).Pause, (*consultest.Server).Resume),
	)
	return s
}

// consulStore is a server, or several, of which all runs name the first.
func consulStore(c consultest.Cluster, l links, p plan) *store {
	s := &store{servers: []string{c[0].Addr()}, http: true, named: true, env: func(addrs []string) []string { return backend("consul", addrs, "") }}
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
		session := consulHolder(s)
		if session == "" {
			return false
		}
		evict(session)
		return true
	}}
}

// consulHolder returns the holder's session, or "" if nobody has the lock.
func consulHolder(s *consultest.Server) string {
	var all []struct{ Session string }
	if json.Unmarshal([]byte(s.Ask(http.MethodGet, consulKey, "")), &all) != nil || len(all) == 0 {
		return ""
	}
	return all[0].Session
}
