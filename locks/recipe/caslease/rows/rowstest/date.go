package rowstest

import (
	"errors"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// A Dated is a server whose date a test can change.
type Dated interface {
	FakeClock() *realserver.Clock
	Stop()
	Start()
	URL() string
}

// ForgetDateBehind tests that a lock is not forgotten while the server's date is behind its tokens,
// so that they go on rising.
func ForgetDateBehind(t *testing.T, s Dated, open locks.Opener) {
	t.Helper()
	s.Stop()
	clock := s.FakeClock()
	s.Start()
	handle := func() locks.Lock {
		return drive.Open(t, open, s.URL(), locks.Options{Name: jobs.Name, Holder: "a", TTL: time.Minute, ConnectTimeout: 4 * time.Second})
	}
	forget := func() error {
		return handle().(locks.Forgetter).Forget(drive.Context(t)) //nolint:forcetypeassert // a store in SQL can
	}
	var last uint64
	rises := func() {
		t.Helper()
		l := handle()
		token := drive.Hold(t, l).Token
		drive.Release(t, l)
		if token <= last {
			t.Errorf("the token %d after %d", token, last)
		}
		last = token
	}
	rises()
	clock.Change(-20*time.Second, 1)
	for range 2 {
		if err := forget(); !errors.Is(err, locks.ErrUnavailable) {
			t.Errorf("with the server's date 20 s behind: %v", err)
		}
		rises()
	}
	clock.Change(20*time.Second, 1)
	if err := forget(); err != nil {
		t.Errorf("with the right date: %v", err)
	}
	rises()
}
