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

// TestVisitsEndAlone: that sessions of requests end, again and again, is no loss of ours,
// by which a holder would end its job.
func TestVisitsEndAlone(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{})
	store, l := openLock(t, s.URL()+"/p", locks.Options{Name: "a", TTL: 10 * time.Second, ConnectTimeout: trial.Stretch(5 * time.Second)})
	drive.Hold(t, l)
	store.o.ConnectTimeout = time.Second // of the visits that follow
	n := 0
	_, err := aside(t.Context(), store, func(context.Context, *session) (int, error) { n++; return 0, errExpired })
	if errors.Is(err, locks.ErrLost) || err == nil || n < 2 {
		t.Errorf("after %d visits: %v", n, err)
	}
	drive.Renew(t, l)
	drive.Release(t, l)
}
