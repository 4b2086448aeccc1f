package etcd

import (
	"context"
	"errors"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/credentials"

	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A login is a user and the token that the server issued for the password. It
// adds the token to each request.
type login struct {
	user     string   // "": no login
	password password // used only by the goroutine that has turn

	turn workers.Turn // to log in
	mu   sync.Mutex
	n    int // the number of logins
	// token is "" before the first login, and if authentication is off.
	token string
}

func newLogin(user string, p password) *login {
	return &login{user: user, password: p, turn: workers.NewTurn()}
}

// renewed logs in, unless there was a later login than the one that the caller has seen.
func (l *login) renewed(ctx context.Context, seen int, server pb.AuthClient) (n int, err error) {
	if l.user == "" {
		return 0, nil
	}
	if n, _ := l.current(); n > seen {
		return n, nil
	}
	if err := l.turn.Take(ctx); err != nil {
		return 0, err
	}
	defer l.turn.Leave()
	if n, _ := l.current(); n > seen {
		return n, nil
	}
	word, err := l.password.next()
	if err != nil {
		return 0, err
	}
	resp, err := server.Authenticate(ctx, &pb.AuthenticateRequest{Name: l.user, Password: word})
	switch err = rpctypes.Error(err); {
	case errors.Is(err, rpctypes.ErrAuthFailed):
		return 0, l.password.refuse(err, seen > 0)
	case err != nil && !errors.Is(err, rpctypes.ErrAuthNotEnabled):
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n, l.token = l.n+1, resp.GetToken()
	return l.n, nil
}

// refused reports whether the server refused a request, without effect, for a reason
// that a new login can remove, or, for a certificate's user, a repetition.
func (l *login) refused(err error) bool {
	if errors.Is(err, rpctypes.ErrAuthOldRevision) {
		return true
	}
	return l.user != "" && (errors.Is(err, rpctypes.ErrInvalidAuthToken) || errors.Is(err, rpctypes.ErrUserEmpty))
}

func (l *login) current() (n int, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n, l.token
}

// GetRequestMetadata returns the header with the token. A login has no such header:
// etcd 3.4 refuses a login with the expired token of an earlier one.
func (l *login) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	if info, ok := credentials.RequestInfoFromContext(ctx); ok && info.Method == pb.Auth_Authenticate_FullMethodName {
		return nil, nil
	}
	if _, token := l.current(); token != "" {
		return map[string]string{rpctypes.TokenFieldNameGRPC: token}, nil
	}
	return nil, nil
}

// RequireTransportSecurity is false because etcd's authentication is also used
// without TLS.
func (l *login) RequireTransportSecurity() bool { return false }

var _ credentials.PerRPCCredentials = (*login)(nil)
