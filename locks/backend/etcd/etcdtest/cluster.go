package etcdtest

import (
	"context"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// A Cluster has the members of a cluster.
type Cluster []*Server

// URL returns the members' addresses as a leaderrun backend, without a prefix.
func (c Cluster) URL() string {
	var addrs []string
	for _, s := range c {
		addrs = append(addrs, s.Addr())
	}
	return "etcd://" + strings.Join(addrs, ",")
}

// Leader waits until a member leads, and returns it.
func (c Cluster) Leader() *Server {
	tb := c[0].tb
	tb.Helper()
	for deadline := time.Now().Add(readyTimeout); time.Now().Before(deadline); {
		for _, s := range c {
			if s.leads() {
				return s
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	tb.Fatal("the cluster has no leader")
	return nil
}

// AddLearner starts another member, which has no vote.
func (c Cluster) AddLearner() *Server {
	o, tb := c[0].o, c[0].tb
	tb.Helper()
	client := c[0].Client()
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	s := newServer(tb, len(c)+1, o)
	for ctx.Err() == nil { // a new cluster does not yet accept members, and they do not start before it has a version
		if c[0].versioned() {
			if _, err := client.MemberAddAsLearner(ctx, []string{s.peerURL()}); err == nil {
				break
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	var initial []string
	for _, m := range append(c, s) {
		initial = append(initial, m.name+"="+m.peerURL())
	}
	s.launch(Binary(tb, o.Version, "etcd"), append(s.arguments(strings.Join(initial, ","), len(initial)), "--initial-cluster-state", "existing"))
	s.WaitReady()
	return s
}

// Client returns an operator's client of a server without TLS. The caller closes it.
func (s *Server) Client() *clientv3.Client {
	return s.ClientAs("", "")
}

// ClientAs returns a client of a user.
func (s *Server) ClientAs(user, password string) *clientv3.Client {
	s.tb.Helper()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{s.Endpoint()}, Username: user, Password: password,
		DialTimeout: readyTimeout, Logger: zap.NewNop(),
	})
	if err != nil {
		s.tb.Fatal(err)
	}
	return client
}

// A User is a user of etcd's own authentication.
type User struct {
	Name, Password string
	Prefix         string // the user may read and write the keys that begin with it
	ReadOnly       bool   // the user may only read them
}

func (u User) permission() clientv3.PermissionType {
	if u.ReadOnly {
		return clientv3.PermissionType(clientv3.PermRead)
	}
	return clientv3.PermissionType(clientv3.PermReadWrite)
}

// EnableAuth turns authentication on, with the given users and the user root.
func (s *Server) EnableAuth(rootPassword string, users ...User) {
	s.tb.Helper()
	client := s.Client()
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	check := func(err error) {
		s.tb.Helper()
		if err != nil {
			s.tb.Fatal(err)
		}
	}
	for _, u := range append(users, User{Name: "root", Password: rootPassword}) {
		_, err := client.UserAdd(ctx, u.Name, u.Password)
		check(err)
		_, err = client.RoleAdd(ctx, u.Name)
		check(err)
		_, err = client.UserGrantRole(ctx, u.Name, u.Name)
		check(err)
		if u.Prefix != "" {
			end := clientv3.GetPrefixRangeEnd(u.Prefix)
			_, err = client.RoleGrantPermission(ctx, u.Name, u.Prefix, end, u.permission())
			check(err)
		}
	}
	_, err := client.AuthEnable(ctx)
	check(err)
}
