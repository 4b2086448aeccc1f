package kubernetes

import (
	"context"
	"net/url"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
	"github.com/leaderrun/leaderrun/locks/kit/proxy"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// Open returns a handle on one lock in one namespace. It implements [locks.Opener]: it reads the
// kubeconfig, and sends nothing.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	c, err := s.load()
	if err != nil {
		return nil, err
	}
	t := traits(c)
	cl, err := newClient(c, o.ConnectTimeout, handle.Logger(t.Backend, o))
	if err != nil {
		return nil, err
	}
	t.HintSilent = proxy.Hint(t.HintSilent, cl.base.String())
	return caslease.New(newStore(cl, o), t, o), nil
}

// traits returns what distinguishes the store from others. The times that a Lease has by the
// clocks of the API servers are in whole seconds, and somebody may keep them from being written:
// they only tell for how long to watch a Lease.
func traits(c *cluster) caslease.Traits {
	return caslease.Traits{
		Expiry:  caslease.ByWatching,
		Poll:    2 * time.Second, // where a run may not watch
		Follows: follows,
		Secrets: known.Kubernetes.Secrets(),
		Product: "Kubernetes", Backend: "k8s://" + c.context + "/" + c.namespace, Probed: "the namespace of",
		Cell: "Lease", Record: "an annotation " + recordKey, Version: "resourceVersion", Place: "namespace",
		Where:       func(k caslease.Key) string { return c.namespace + "/" + object(k) },
		HintRecord:  "while nobody has the lock, remove it: kubectl annotate lease NAME " + recordKey + "-",
		HintUnmoved: "an API server gives each change of a Lease a greater resourceVersion; ask its provider",
	}
}

var _ locks.Opener = Open
