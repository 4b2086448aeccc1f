package candidate_test

import (
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/lockstest"
)

// The whole suite runs in simulated time.
func TestConformance(t *testing.T) {
	var n atomic.Int64
	f := newFleet()
	lockstest.Run(t, lockstest.Config{
		Open: f.open,
		URL: func(testing.TB) *url.URL {
			id := fmt.Sprint(n.Add(1))
			return &url.URL{Scheme: "sim", Host: "h" + id, Path: "/" + id}
		},
		Twin: func(_ testing.TB, u *url.URL) *url.URL {
			return &url.URL{Scheme: "sim", Host: u.Host + "-twin", Path: u.Path}
		},
		Cut: func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return f.cut(u.Host, how) },
		TTL: 3 * time.Second, MaxTTL: votes.MaxLongest, Polling: time.Second, Unwatched: true, Anonymous: true, Simulated: true,
	})
}
