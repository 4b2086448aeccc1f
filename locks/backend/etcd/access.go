package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// access is who we are for the cluster, with findings about what we may do.
type access struct {
	user     string
	findings []locks.Finding
}

// access reads one key under the prefix, which needs a quorum, a login and the
// permission.
func (l *lock) access(ctx context.Context) access {
	_, err := l.get(ctx, &pb.RangeRequest{Key: []byte(l.prefix), RangeEnd: []byte(endOf(l.prefix)), Limit: 1, KeysOnly: true})
	on, known := l.authentication(ctx, err)
	var a access
	if on {
		a.user = l.settings.identity()
	}
	a.findings = []locks.Finding{l.readFinding(err), l.authFinding(on, known, a.user)}
	return a
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
