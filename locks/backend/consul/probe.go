package consul

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// facts are what an agent reports. What we may not know is zero.
type facts struct {
	leader string   // address; "": there is none
	peers  []string // the servers
	self   struct {
		Config struct {
			NodeName, Version string
			Server            bool
		}
		DebugConfig struct {
			ACLsEnabled   bool
			DevMode       bool
			SessionTTLMin string
		}
	}
	token struct {
		AccessorID, Description string
		ExpirationTime          time.Time
	}
	access []struct{ Allow bool } // to write keys, and sessions
}

// Probe implements [queue.Prober].
func (l *lock) Probe(ctx context.Context) (locks.Servers, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	s := locks.Server{Address: l.client.settings.addr}
	out := locks.Servers{Product: "Consul"}
	var f facts
	_, err := l.client.fetch(ctx, "/v1/status/leader", nil, &f.leader)
	sent := time.Now()
	if err == nil {
		var state *tls.ConnectionState
		if state, err = l.client.fetch(ctx, "/v1/status/peers", nil, &f.peers); err == nil && state != nil {
			s.TLS, s.Expires = tlsfiles.Security(*state, tlsfiles.Own(l.client.settings.tls.Config()))
		}
	}
	if err != nil {
		why := l.explain(err)
		s.Error, s.Class = why.Err.Error(), locks.ServerClass(why)
		out.Servers = []locks.Server{s}
		return out, nil
	}
	s.RTT = time.Since(sent)
	problem := l.ask(ctx, &f)
	s.Version, s.Role = f.self.Config.Version, "client agent"
	if f.self.Config.Server {
		s.Role = "server"
	}
	if out.User = f.token.Description; out.User == "" {
		out.User = f.token.AccessorID
	}
	out.Servers = []locks.Server{s}
	l.judge(&f, &out)
	if problem != nil {
		out.Find("access", locks.LevelError, problem.Err.Error(), problem.Hint)
	}
	return out, nil
}

// ask asks for what needs a permission. It returns an error if the token is good for nothing.
func (l *lock) ask(ctx context.Context, f *facts) *locks.Error {
	_, err := l.client.fetch(ctx, "/v1/agent/self", nil, &f.self)
	if err == nil && !f.self.DebugConfig.ACLsEnabled {
		return nil
	}
	_, _ = l.client.fetch(ctx, "/v1/acl/token/self", nil, &f.token)
	type want struct{ Resource, Segment, Access string }
	_, err = l.client.fetch(ctx, "/v1/internal/acl/authorize", []want{
		{"key", l.key, "write"}, {"session", f.self.Config.NodeName, "write"},
	}, &f.access)
	if err != nil {
		return l.explain(err)
	}
	return nil
}

// fetch asks for something other than keys. A body has the parameters of the request. It
// returns the state of a connection with TLS.
func (c *client) fetch(ctx context.Context, path string, body, answer any) (*tls.ConnectionState, error) {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	resp, err := c.send(ctx, method, path, url.Values{}, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, failure(resp)
	}
	return resp.TLS, decode(resp, maxAnswer, answer)
}

// judge adds what can break exclusion, or keep a run from its lock.
func (l *lock) judge(f *facts, to *locks.Servers) {
	if f.leader == "" {
		to.Find("leader", locks.LevelError, "the servers have no leader", "see consul operator raft list-peers")
	}
	switch n := len(f.peers); {
	case f.self.DebugConfig.DevMode:
		to.Find("dev mode", locks.LevelError, "the agent runs with -dev: a restart loses all locks, and tokens begin anew", "run a server with a data directory")
	case n < 3:
		to.Find("servers", locks.LevelWarning, fmt.Sprintf("number of servers: %d; none may fail", n), "run three or five")
	default:
		to.Find("servers", locks.LevelOK, fmt.Sprintf("number of servers: %d; %d may fail", n, (n-1)/2), "")
	}
	if least, err := time.ParseDuration(f.self.DebugConfig.SessionTTLMin); err == nil && least > l.o.TTL {
		to.Find("ttl", locks.LevelWarning, fmt.Sprintf("the server grants no ttl below %v", least), "use --ttl "+least.String()+", or set session_ttl_min on the servers")
	}
	if s := l.client.settings; s.tls == nil && !s.socket && !hosts.Local(s.addr) && (s.token != "" || s.tokenFile != nil || s.auth != nil) {
		to.Find("encryption", locks.LevelWarning, "the token goes over the network unencrypted", "enable TLS on the agent, and give cacert=FILE or tls=true; or use an agent on this machine")
	}
	if end := f.token.ExpirationTime; !end.IsZero() {
		to.Find("token", locks.LevelWarning, "the ACL token expires at "+end.UTC().Format(time.RFC3339)+", and with it every lease", "replace it in time in a file that token-file= names")
	}
	if len(f.access) == 2 {
		switch {
		case !f.access[0].Allow:
			to.Find("access", locks.LevelError, "the token may not write "+l.key, hintACL)
		case !f.access[1].Allow && f.self.Config.NodeName != "":
			to.Find("access", locks.LevelError, "the token may not make sessions on the node "+f.self.Config.NodeName, hintACL)
		default:
			to.Find("access", locks.LevelOK, "we may write the keys", "")
		}
	}
}
