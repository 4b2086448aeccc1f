package azblob

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

const (
	// longestLogin bounds what it takes to get a token.
	longestLogin = 30 * time.Second
	// untaken is how long a token is kept for the next request. From 5 minutes before the end of
	// one, the SDK asks for another every 30 s.
	untaken = time.Minute
)

// A credential gets access tokens, and marks the errors of a login. The SDK asks for a token within
// a request, and az may take longer for that than a renewal has. So a login has time of its own: a
// request that cannot wait for it leaves the token to the next one.
type credential struct {
	azcore.TokenCredential

	mu     sync.Mutex
	logins map[string]*login // whose tokens nobody has taken, by what was asked for
}

func newCredential(c azcore.TokenCredential) *credential {
	return &credential{TokenCredential: c, logins: map[string]*login{}}
}

// A login gets one token.
type login struct {
	until time.Time     // when the token is no longer kept
	done  chan struct{} // closed when the following fields are set
	token azcore.AccessToken
	err   error
}

// GetToken implements [azcore.TokenCredential].
func (c *credential) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	asked, now := fmt.Sprint(o), time.Now()
	c.mu.Lock()
	l := c.logins[asked]
	if l == nil || now.After(l.until) {
		l = &login{until: now.Add(longestLogin + untaken), done: make(chan struct{})}
		c.logins[asked] = l
		go l.run(context.WithoutCancel(ctx), c.TokenCredential, o)
	}
	c.mu.Unlock()
	if end, ok := ctx.Deadline(); ok { // the rest is for the request, with the token before if that lasts
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, end.Sub(now)*3/4)
		defer cancel()
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		return azcore.AccessToken{}, &loginError{ctx.Err(), true}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logins[asked] == l {
		delete(c.logins, asked)
	}
	return l.token, l.err
}

func (l *login) run(ctx context.Context, c azcore.TokenCredential, o policy.TokenRequestOptions) {
	defer close(l.done)
	ctx, cancel := context.WithTimeout(ctx, longestLogin)
	defer cancel()
	var err error
	if l.token, err = c.GetToken(ctx, o); err != nil {
		l.err = &loginError{err, ctx.Err() != nil}
	}
}
