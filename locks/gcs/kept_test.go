package gcs

import (
	"errors"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestRecordExtendsNoLease: though the service has taken a write, what we count
// the lease from stays; and once that is over nothing is written.
func TestRecordExtendsNoLease(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	opened := drive.Open(t, Open, gcstest.URL(s.Addr(), "p").String(), locks.Options{Name: "x", TTL: maxTTL, ConnectTimeout: drive.Patience})
	drive.Hold(t, opened)
	l := opened.(*Lock)
	before := l.provedAt(l.term)
	if err := l.SetRecord(drive.Context(t), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if after := l.provedAt(l.term); after != before {
		t.Errorf("the lease counts from %v later", after.Sub(before))
	}
	l.mu.Lock()
	l.term.sent = now().Add(-l.ttl)
	l.mu.Unlock()
	s.Requests()
	if err := l.SetRecord(drive.Context(t), []byte("y")); !errors.Is(err, locks.ErrLost) || len(s.Requests()) > 0 {
		t.Errorf("after the end of the lease: %v; want ErrLost, and no request", err)
	}
}
