package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/leaderrun/leaderrun/locks"
)

// A member is the result of probing one endpoint.
type member struct {
	locks.Server
	status   *pb.StatusResponse // nil: none
	rootOnly bool               // only root may read its status
	proxied  bool               // etcd's grpc-proxy is in between
}

// Probe implements [queue.Prober]. It asks all endpoints, each over a separate connection,
// and the whole cluster, concurrently.
func (l *lock) Probe(ctx context.Context) (locks.Servers, error) {
	var all sync.WaitGroup
	members := make([]member, min(len(l.settings.endpoints), locks.MaxServers))
	for i := range members {
		all.Go(func() { members[i] = l.probe(ctx, l.settings.endpoints[i]) })
	}
	var access access
	all.Go(func() { access = l.access(ctx) })
	all.Wait()
	s := locks.Servers{Product: "etcd", User: access.user, Findings: clusterFindings(members)}
	for _, m := range members {
		s.Servers = append(s.Servers, m.Server)
	}
	s.Findings = append(s.Findings, access.findings...)
	s.Findings = append(s.Findings, l.settings.findings()...)
	return s, nil
}

// probe asks one endpoint for its status, twice: the second request has an open
// connection, so its time is the RTT.
func (l *lock) probe(ctx context.Context, endpoint string) member {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	m := member{Server: locks.Server{Address: hostOf(endpoint)}}
	var certs certificates
	s := *l.settings
	s.endpoints, s.certs = []string{endpoint}, &certs
	c, err := newClient(&s, l.o.ConnectTimeout)
	if err == nil {
		defer c.close()
		m.status, err = c.status(ctx)
	}
	if err != nil {
		why := l.explain(err)
		m.Error, m.Class = why.Err.Error(), locks.ServerClass(why)
		m.rootOnly = errors.Is(err, rpctypes.ErrPermissionDenied)
		return m
	}
	sent := time.Now()
	if again, err := c.status(ctx); err == nil {
		m.status, m.RTT = again, time.Since(sent)
	}
	if m.status.Leader != 0 && !m.status.IsLearner {
		m.proxied, _ = c.proxied(ctx) // an error is reported by other findings
	}
	m.Version, m.Role = m.status.Version, role(m.status)
	m.TLS, m.Expires = certs.seen()
	return m
}

// status asks the member for its status. It first asks without a login, which servers
// before 3.4.42 and 3.5.28 do not need, because without a quorum nobody can log in.
// For the same reason the member need not have a leader.
func (c *client) status(ctx context.Context) (resp *pb.StatusResponse, err error) {
	ask := func() error {
		resp, err = c.maintenance.Status(ctx, &pb.StatusRequest{})
		return err
	}
	if err := rpctypes.Error(ask()); err == nil || c.login.user == "" || !refusedUs(err) {
		return resp, err
	}
	err = c.withLogin(ctx, ask)
	return resp, err
}

// refusedUs reports whether the server refused a request because of its user, or because
// it had none.
func refusedUs(err error) bool {
	for _, refusal := range []error{
		rpctypes.ErrUserEmpty, rpctypes.ErrPermissionDenied, rpctypes.ErrInvalidAuthToken,
		rpctypes.ErrAuthFailed, rpctypes.ErrUserNotFound,
	} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

func role(s *pb.StatusResponse) string {
	switch {
	case s.IsLearner:
		return "learner"
	case s.Leader == 0:
		return "without a leader"
	case s.Leader == s.Header.GetMemberId():
		return "leader"
	}
	return "follower"
}
