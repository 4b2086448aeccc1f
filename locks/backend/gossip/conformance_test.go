package gossip

import (
	"net/url"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/gossipinfo"
	"github.com/leaderrun/leaderrun/locks/lockstest"
)

func TestConformance(t *testing.T) {
	f := newFleets()
	c := f.config(f.open)
	c.Twin = func(_ testing.TB, u *url.URL) *url.URL { return f.twin(u) }
	c.Cut = func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return f.cut(u, how) }
	lockstest.Run(t, c)
}

func TestSlots(t *testing.T) {
	f := newFleets()
	c := f.config(f.open)
	c.Recipe = true // slots are one
	lockstest.RunSlots(t, c)
}

// config says what the backend can do. Each test has a fleet of its own.
func (f *fleets) config(open locks.Opener) lockstest.Config {
	return lockstest.Config{
		Open: open,
		URL:  func(t testing.TB) *url.URL { return f.start(t, 3, time.Hour) },
		TTL:  2 * time.Second, MaxTTL: time.Hour, Polling: time.Second, Unwatched: true, ReportsLeft: true, Room: 2,
		Abilities: gossipinfo.Info.Abilities,
	}
}
