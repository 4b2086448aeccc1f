package zookeeper

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// TestTempSessionsExpire checks that temporary sessions that expire again and again are not
// reported as a loss of our lock, which would end a holder's job.
func TestTempSessionsExpire(t *testing.T) {
	t.Parallel()
	trial.Steady(t, func(t testing.TB, scale int) {
		s := zktest.Start(t, zktest.Options{})
		store, l := openLock(t, s.URL()+"/p", locks.Options{Name: "a", TTL: 10 * time.Second, ConnectTimeout: trial.Stretch(5 * time.Second)})
		drive.Hold(t, l)
		store.o.ConnectTimeout = time.Duration(scale) * time.Second // for the temporary sessions
		n := 0
		_, err := withTempSession(t.Context(), store, func(context.Context, *session) (int, error) { n++; return 0, errExpired })
		if errors.Is(err, locks.ErrLost) || err == nil || n < 2 {
			t.Errorf("after %d sessions: %v", n, err)
		}
		drive.Renew(t, l)
		drive.Release(t, l)
	})
}
