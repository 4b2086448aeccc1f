package mysql

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

// TestUnverified: doctor warns if TLS is spoken with whoever answers, unless that is on this machine.
func TestUnverified(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		server     locks.Server
		unverified bool
		want       int
	}{
		{locks.Server{Address: "192.0.2.1:1", TLS: "1.3"}, true, 1},
		{locks.Server{Address: "192.0.2.1:1", TLS: "1.3"}, false, 0},
		{locks.Server{Address: "127.0.0.1:1", TLS: "1.3"}, true, 0},
	} {
		var found locks.Servers
		(&store{settings: &settings{}}).encryption(host{Server: c.server, unverified: c.unverified}, &found)
		if len(found.Findings) != c.want {
			t.Errorf("%s, not verified: %v: got %v", c.server.Address, c.unverified, found.Findings)
		}
	}
}
