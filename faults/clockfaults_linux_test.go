package faults

import (
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// slewed is the rate of a clock while chronyd corrects a date, by default.
const slewed = 1.083

// A dated server is one whose date says whether a lease has ended.
type dated interface {
	server
	FakeClock() *realserver.Clock
	Exec(statements ...string) [][]string
}

// clockFaults returns faults of the date of a server, which starts again for that. A query
// returns its date in microseconds, and table says whether a run has made the table.
func clockFaults(s dated, strict bool, date string, table func() bool) []fault {
	s.Stop()
	clock := s.FakeClock()
	s.Start()
	check := func() {
		clock.Check(func() time.Time {
			n, _ := strconv.ParseInt(s.Exec(date)[0][0], 10, 64) // otherwise the date is wrong
			return time.UnixMicro(n)
		})
	}
	check()
	all := []fault{
		{"server's clock slewed", func(n *nemesis, _ *machine) bool {
			clock.Change(0, slewed)
			n.pass()
			check()
			clock.Change(0, 1)
			return true
		}},
		// Without strict takeover a lease may end early if its holder is silent, too: see
		// docs/safety.md. So the holder has just renewed, and nothing keeps it from renewing again.
		{"server's date set forward", func(n *nemesis, _ *machine) bool {
			if !strict {
				n.c.calm.Lock()
				defer n.c.calm.Unlock()
			}
			if !table() || !renewed(s) {
				return false
			}
			clock.Change(20*time.Second, 1)
			check()
			renewed(s)
			return true
		}},
	}
	if !strict { // there the lock is deleted as well, and then only the date keeps tokens from falling
		all = append(all, fault{"server's date set back", func(*nemesis, *machine) bool {
			clock.Change(-20*time.Second, 1)
			check()
			return true
		}})
	}
	return all
}

// renewed waits, for a lease at most, until the row of the lock is written.
func renewed(s dated) bool {
	const query = "SELECT max(updated) FROM leaderrun_locks WHERE part = 0"
	before := s.Exec(query)[0][0]
	for end := time.Now().Add(ttl); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if s.Exec(query)[0][0] != before {
			return true
		}
	}
	return false
}
