package faults

import (
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
)

const zkRoot = "/faults"

func zkStore(e zktest.Ensemble, l links, p plan) *store {
	s := &store{several: true}
	for _, member := range e {
		s.servers = append(s.servers, member.Addr())
		s.faults = append(s.faults, serverFaults(member)...)
	}
	if len(e) == 1 {
		s.faults = append(s.faults, zkSlew(e[0]))
	} else {
		s.faults = append(s.faults, leaderFaults(e.Leader)...)
		s.faults = append(s.faults, linkFaults(l, e, e.Leader)...)
	}
	if p.strict {
		s.faults = append(s.faults, zkOperator(e[0])...)
	}
	query := ""
	if p.unfair {
		query = "?mode=unfair"
	}
	s.env = func(addrs []string) []string { return backend("zk", addrs, zkRoot+query) }
	return s
}

// zkSlew makes the clocks of a server run too fast, and so sessions end earlier. The
// server starts again for that.
func zkSlew(s *zktest.Server) fault {
	const inexact = 100 * time.Millisecond
	s.Stop()
	clock := s.FakeClocks()
	s.Start()
	return fault{"server's clock slewed", func(n *nemesis, _ *machine) bool {
		n.length = max(n.length, 2*ttl) // so that most of a lease that nobody renews is in it
		clock.Change(0, slewed)
		asked := time.Now()
		from := s.Uptime()
		told := time.Now()
		n.pass()
		least := time.Since(told)
		ran := s.Uptime() - from
		most := time.Since(asked)
		clock.Change(0, 1)
		if float64(ran+inexact) < slewed*float64(least) || float64(ran-inexact) > slewed*float64(most) {
			n.c.t.Errorf("the server's clock ran for %v in %v to %v; want a rate of %v", ran, least, most, slewed)
		}
		return true
	}}
}

// zkOperator ends running terms.
func zkOperator(s *zktest.Server) []fault {
	return []fault{
		zkEviction(s, "lock deleted", func(c *zk.Conn, path string, _ int64) error { return c.Delete(path, -1) }),
		zkEviction(s, "session ended", func(_ *zk.Conn, _ string, session int64) error { return s.EndSession(session) }),
	}
}

// zkEviction evicts the first in the queue.
func zkEviction(s *zktest.Server, name string, evict func(c *zk.Conn, path string, session int64) error) fault {
	return fault{name, func(_ *nemesis, _ *machine) bool {
		c := s.Client()
		defer c.Close()
		queue := zkRoot + "/" + lockName
		names, _, err := c.Children(queue)
		first, serial := "", ""
		for _, name := range names {
			if i := strings.LastIndexByte(name, '-'); serial == "" || name[i+1:] < serial {
				first, serial = queue+"/"+name, name[i+1:]
			}
		}
		if err != nil || first == "" {
			return false // nobody has the lock
		}
		_, stat, err := c.Exists(first)
		return err == nil && evict(c, first, stat.EphemeralOwner) == nil
	}}
}
