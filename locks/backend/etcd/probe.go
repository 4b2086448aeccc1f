package etcd

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// A member is the result of probing one endpoint.
type member struct {
	locks.Server
	status  *pb.StatusResponse // nil: none
	proxied bool               // etcd's grpc-proxy is in between
	alone   bool               // it is the only member of its cluster
}

// Probe implements [queue.Store]. It asks all endpoints, each over a separate connection,
// and the whole cluster, concurrently.
func (l *lock) Probe(ctx context.Context) (locks.Servers, error) {
	var all sync.WaitGroup
	members := make([]member, min(len(l.settings.endpoints), locks.MaxServers))
	for i := range members {
		all.Go(func() { members[i] = l.probe(ctx, l.settings.endpoints[i]) })
	}
	s := locks.Servers{Product: "etcd"}
	var authentication locks.Finding
	all.Go(func() { s.User, authentication = l.access(ctx) })
	all.Wait()
	for _, m := range members {
		s.Servers = append(s.Servers, m.Server)
	}
	s.Findings = slices.Concat(findings(members), []locks.Finding{authentication}, l.settings.findings())
	return s, nil
}

// probe asks one endpoint for its status, twice: the second request has an open
// connection, so its time is the RTT.
func (l *lock) probe(ctx context.Context, endpoint string) member {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	m := member{Server: locks.Server{Address: hostOf(endpoint)}}
	s := *l.settings
	s.endpoints = []string{endpoint}
	c, err := newClient(&s, l.o.ConnectTimeout)
	if err == nil {
		defer c.close()
		m.status, _, err = c.status(ctx)
	}
	if err != nil {
		why := l.explain(err)
		m.Error, m.Class = why.Err.Error(), locks.ServerClass(why)
		return m
	}
	sent := time.Now()
	if again, by, err := c.status(ctx); err == nil {
		m.status, m.RTT = again, time.Since(sent)
		if t, ok := by.AuthInfo.(credentials.TLSInfo); ok {
			m.TLS, m.Expires = tlsfiles.Security(t.State, tlsfiles.Own(s.tls.Config()))
		}
	}
	if m.status.Leader != 0 && !m.status.IsLearner {
		m.proxied, _ = c.proxied(ctx) // an error says nothing
		m.alone = !m.proxied && c.alone(ctx)
	}
	m.Version, m.Role = m.status.Version, role(m.status)
	return m
}

// status asks the member for its status. It first asks without a login, which servers
// before 3.4.42 and 3.5.28 do not need, because without a quorum nobody can log in.
// For the same reason the member need not have a leader.
func (c *client) status(ctx context.Context) (resp *pb.StatusResponse, by peer.Peer, err error) {
	ask := func() error {
		resp, err = c.maintenance.Status(ctx, &pb.StatusRequest{}, grpc.Peer(&by))
		return err
	}
	if err := rpctypes.Error(ask()); err == nil || c.login.user == "" || !refusedUs(err) {
		return resp, by, err
	}
	err = c.withLogin(ctx, ask)
	return resp, by, err
}

// alone reports whether it is certain that the cluster has one member.
func (c *client) alone(ctx context.Context) bool {
	var all *pb.MemberListResponse
	err := c.withLogin(ctx, func() (err error) {
		all, err = pb.NewClusterClient(c.etcd.ActiveConnection()).MemberList(ctx, &pb.MemberListRequest{})
		return err
	})
	return err == nil && len(all.Members) == 1
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
