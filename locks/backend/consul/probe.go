package consul

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// facts are what an agent reports. What we may not know is zero.
type facts struct {
	self struct {
		Config struct {
			Version string
			Server  bool
		}
		DebugConfig struct{ ACLsEnabled, DevMode, LeaveOnTerm bool }
	}
	token struct {
		AccessorID, Description string
		ExpirationTime          time.Time
	}
}

// Probe implements [queue.Store].
func (l *lock) Probe(ctx context.Context) (locks.Servers, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	s := locks.Server{Address: l.client.settings.addr}
	out := locks.Servers{Product: "Consul"}
	var f facts
	leader := "" // needs no permission
	_, err := l.client.fetch(ctx, "/v1/status/leader", &leader)
	sent := time.Now()
	if err == nil { // the second request has an open connection
		var state *tls.ConnectionState
		if state, err = l.client.fetch(ctx, "/v1/status/leader", &leader); err == nil && state != nil {
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
	_, unknown := l.client.fetch(ctx, "/v1/agent/self", &f.self)
	if unknown != nil || f.self.DebugConfig.ACLsEnabled {
		_, _ = l.client.fetch(ctx, "/v1/acl/token/self", &f.token) // who may not use it learns that elsewhere
	}
	if s.Version = f.self.Config.Version; f.self.Config.Server {
		s.Role = "server"
	} else if unknown == nil {
		s.Role = "client agent"
	}
	out.User = cmp.Or(f.token.Description, f.token.AccessorID)
	out.Servers = []locks.Server{s}
	if unknown != nil {
		out.Find("agent", locks.LevelWarning, "its settings cannot be read, so whether it runs with -dev, or leaves when it is terminated, is unknown: "+l.explain(unknown).Err.Error(),
			`to have them checked, let the token read them: agent_prefix "" { policy = "read" }`)
	}
	l.judge(&f, &out)
	return out, nil
}

// fetch asks for something other than keys. It returns the state of a connection with TLS.
func (c *client) fetch(ctx context.Context, path string, answer any) (*tls.ConnectionState, error) {
	resp, err := c.send(ctx, http.MethodGet, path, url.Values{}, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, failure(resp)
	}
	return resp.TLS, decode(resp, maxAnswer, answer)
}

// judge adds what can lose leases or tokens.
func (l *lock) judge(f *facts, to *locks.Servers) {
	if f.self.DebugConfig.DevMode {
		to.Find("dev mode", locks.LevelError, "the agent runs with -dev: a restart loses all locks, and tokens begin anew", "run a server with a data directory")
	}
	if f.self.DebugConfig.LeaveOnTerm {
		to.Find("deregistration", locks.LevelWarning, "when the agent is terminated, it leaves: its node is deregistered, and all leases that were taken through it end", "set leave_on_terminate = false")
	}
	if s := l.client.settings; s.tls == nil && !s.socket && !hosts.Local(s.addr) && (s.token != "" || s.tokenFile != nil || s.auth != nil) {
		to.Find("encryption", locks.LevelWarning, "the token goes over the network unencrypted", "enable TLS on the agent, and give cacert=FILE or tls=true; or use an agent on this machine")
	}
	if end := f.token.ExpirationTime; !end.IsZero() {
		to.Find("token", locks.LevelWarning, "the ACL token expires at "+end.UTC().Format(time.RFC3339)+", and with it every lease", "replace it in time in a file that token-file= names")
	}
}
