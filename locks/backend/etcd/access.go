package etcd

import (
	"context"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// access returns who we are for the cluster, and whether it asks everybody that. It reads one
// key under the prefix, which needs a login.
func (l *lock) access(ctx context.Context) (user string, authentication locks.Finding) {
	_, err := l.get(ctx, &pb.RangeRequest{Key: []byte(l.prefix), RangeEnd: []byte(endOf(l.prefix)), Limit: 1, KeysOnly: true})
	on, known := l.authentication(ctx, err)
	if on && !errors.Is(err, rpctypes.ErrAuthFailed) {
		user = l.settings.identity()
	}
	return user, authFinding(on, known, user)
}

// authentication reports whether etcd's own authentication is on, and whether that is
// known, given the error of a read. It sends a request only if we have a client
// certificate, which may be our login, or only needed to connect.
func (l *lock) authentication(ctx context.Context, read error) (on, known bool) {
	if n, token := l.c.login.current(); n > 0 {
		return token != "", true
	}
	if refusedUs(read) {
		return true, true
	}
	if read != nil || !l.settings.certified() {
		return false, read == nil
	}
	ctx, cancel := l.c.attempt(ctx)
	defer cancel()
	resp, err := call(ctx, l.c, l.c.auth.AuthStatus, &pb.AuthStatusRequest{}) // since etcd 3.5; only root may
	return resp.GetEnabled() || refusedUs(err), err == nil || refusedUs(err)
}

// identity returns our user for etcd's authentication, if it is on.
func (s *settings) identity() string {
	if s.user != "" || !s.certified() {
		return s.user
	}
	return tlsfiles.Own(s.tls.Config()).Leaf.Subject.CommonName
}

// certified reports whether we have a client certificate.
func (s *settings) certified() bool { return s.tls != nil && tlsfiles.Own(s.tls.Config()) != nil }
