package azblob

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// slowLogin is az: it takes some seconds for a token, and fails when ctx ends.
type slowLogin struct {
	takes time.Duration
	runs  int
}

func (s *slowLogin) GetToken(ctx context.Context, _ policy.TokenRequestOptions) (azcore.AccessToken, error) {
	s.runs++
	select {
	case <-time.After(s.takes):
		return azcore.AccessToken{Token: "opensesame", ExpiresOn: time.Now().Add(time.Hour)}, nil
	case <-ctx.Done():
		return azcore.AccessToken{}, ctx.Err()
	}
}

// instant is a service that answers at once, if there is time.
type instant struct{}

func (instant) Do(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}, req.Context().Err()
}

// TestSlowLogin checks that a login which takes longer than a request costs the first requests, and
// no renewal after that, and that there is one at a time.
func TestSlowLogin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &slowLogin{takes: 5 * time.Second}
		c, err := container.NewClient("https://a.example.com/c", newCredential(slow), &container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: instant{}, Retry: policy.RetryOptions{MaxRetries: -1}}})
		if err != nil {
			t.Fatal(err)
		}
		ask := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err := c.GetProperties(ctx, nil)
			return err
		}
		for began := time.Now(); time.Since(began) < slow.takes; {
			if err := ask(); err != nil && !waited(err) {
				t.Errorf("while the login runs: %v", err)
			}
		}
		for began := time.Now(); time.Since(began) < 10*time.Hour; time.Sleep(5 * time.Second) {
			if err := ask(); err != nil {
				t.Fatalf("%v after the login: %v", time.Since(began), err)
			}
		}
		if slow.runs > 12 {
			t.Errorf("%d logins for 10 hours", slow.runs)
		}
		time.Sleep(2 * time.Hour) // as in suspend
		if err := ask(); !waited(err) {
			t.Errorf("after the token's end: %v", err)
		}
		time.Sleep(slow.takes)
		if err := ask(); err != nil {
			t.Errorf("when the login is done: %v", err)
		}
	})
}

// TestLoginThatHangs checks that it is given up, and what is said of it.
func TestLoginThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &slowLogin{takes: 365 * 24 * time.Hour}
		_, err := newCredential(slow).GetToken(t.Context(), policy.TokenRequestOptions{})
		if !waited(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
