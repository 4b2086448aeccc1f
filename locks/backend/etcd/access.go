package etcd

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// access is what the cluster lets us do.
type access struct {
	user     string
	findings []locks.Finding
}

// access reads one key under the prefix, which takes a quorum, a login and the
// permission.
func (l *lock) access(ctx context.Context) access {
	_, err := l.get(ctx, &pb.RangeRequest{Key: []byte(l.prefix), RangeEnd: []byte(endOf(l.prefix)), Limit: 1, KeysOnly: true})
	on, known := l.authentication(ctx, err)
	var a access
	if on {
		a.user = l.settings.identity()
	}
	a.findings = []locks.Finding{l.reading(err), l.authenticating(on, known, a.user)}
	return a
}

func (l *lock) reading(err error) locks.Finding {
	f := locks.Finding{Check: "read", Level: locks.LevelOK, Text: "the keys under " + l.prefix + " can be read"}
	if err != nil {
		why := l.explain(err)
		f = locks.Finding{Check: "read", Level: locks.LevelError, Text: fmt.Sprintf("the keys under %s: %v", l.prefix, why.Err), Fix: why.Hint}
	}
	return f
}

// authentication tells whether etcd's own authentication is on, given what reading
// came to. Only a client certificate needs a question: it may be our login, or
// just what lets us connect.
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
	resp, err := call(ctx, l.c, l.c.auth.AuthStatus, &pb.AuthStatusRequest{}) // not before etcd 3.5; for root only
	return resp.GetEnabled() || refusedUs(err), err == nil || refusedUs(err)
}

func (l *lock) authenticating(on, known bool, user string) locks.Finding {
	f := locks.Finding{Check: "authentication", Level: locks.LevelOK}
	switch {
	case !known:
		f.Text = "it could not be found out whether authentication is on"
	case on && user == "":
		f.Level, f.Text, f.Fix = locks.LevelError, "authentication is on, and there is no user", "set ETCDCTL_USER and ETCDCTL_PASSWORD"
	case on:
		f.Text = fmt.Sprintf("authentication is on; we are %q", user)
	case l.settings.user != "":
		f.Level, f.Text = locks.LevelWarning, fmt.Sprintf("a user is given (%q), but authentication is off", l.settings.user)
		f.Fix = "leave the user away, or etcdctl auth enable"
	default:
		f.Text = "authentication is off: whoever can connect can do everything"
	}
	return f
}

// identity is as whom etcd's authentication knows us, if it is on.
func (s *settings) identity() string {
	if s.user != "" || !s.certified() {
		return s.user
	}
	return tlsfiles.Own(s.tls.Config()).Leaf.Subject.CommonName
}

// certified reports that we have a client certificate.
func (s *settings) certified() bool { return s.tls != nil && tlsfiles.Own(s.tls.Config()) != nil }

// findings is what can be said about the settings alone.
func (s *settings) findings() []locks.Finding {
	f := locks.Finding{Check: "encryption", Level: locks.LevelWarning}
	switch {
	case s.tls == nil && s.user == "":
		return nil
	case s.tls == nil:
		f.Text, f.Fix = "the password goes over the network unencrypted", "let the servers speak TLS, and give cacert=FILE"
	case s.tls.Config().InsecureSkipVerify:
		f.Text, f.Fix = "the servers' certificates are not verified", "unset ETCDCTL_INSECURE_SKIP_TLS_VERIFY"
	default:
		return nil
	}
	return []locks.Finding{f}
}
