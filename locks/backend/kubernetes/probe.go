package kubernetes

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// Probe implements [caslease.Prober]: the one server is the address of the API, behind which there
// may be several. It makes four requests, and changes nothing.
func (s *store) Probe(ctx context.Context, try func(context.Context, func(context.Context) error) *locks.Error) (locks.Servers, error) {
	found := locks.Servers{Product: "Kubernetes"}
	at := locks.Server{Address: s.client.base.String()}
	look := func(ctx context.Context) error {
		for range 2 { // the second uses an open connection, so its time is the RTT
			start := time.Now()
			resp, err := s.client.send(ctx, http.MethodGet, s.path(object(caslease.Key{Name: s.name})), nil, nil)
			if err != nil && !isMissing(err) {
				return err
			}
			at.RTT = time.Since(start)
			if resp != nil {
				_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
				_ = resp.Body.Close()
			}
		}
		return nil
	}
	if err := try(ctx, look); err != nil {
		found.Servers = []locks.Server{{Address: at.Address, Error: err.Err.Error(), Class: locks.ServerClass(err)}}
		return found, nil
	}
	if state := s.client.tls.Load(); state != nil {
		at.TLS, at.Expires = tlsfiles.Security(*state, nil)
	}
	at.Version = s.version(ctx)
	found.Servers = []locks.Server{at}
	found.User = s.user(ctx)
	return found, nil
}

// version returns the version of a server, or "" if we may not ask.
func (s *store) version(ctx context.Context) string {
	var answer struct {
		Version string `json:"gitVersion"`
	}
	_, _ = s.client.ask(ctx, http.MethodGet, "/version", nil, nil, maxAnswer, &answer)
	return locks.Printable(answer.Version)
}

// user returns who the servers take us for. Before 1.28 they do not say.
func (s *store) user(ctx context.Context) string {
	var answer struct {
		Status struct {
			User struct {
				Name string `json:"username"`
			} `json:"userInfo"`
		} `json:"status"`
	}
	_, _ = s.client.ask(ctx, http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", nil,
		map[string]string{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}, maxAnswer, &answer)
	return locks.Printable(answer.Status.User.Name)
}
