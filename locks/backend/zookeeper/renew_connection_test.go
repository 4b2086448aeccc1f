package zookeeper_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// warnings counts the warnings in a server's log about connections that clients closed.
func warnings(s *zktest.Server) int { return strings.Count(s.Log(), "WARN NIOServerCnxn") }

// connections counts a server's connections that have a session.
func connections(s *zktest.Server) int { return strings.Count(s.Ask("cons"), "sid=") }

// TestRenewalsAreQuiet checks that the renewals of a holder and of a waiter leave no
// warnings in the server's log, and no connections.
func TestRenewalsAreQuiet(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{})
	a := open(t, s.URL()+"/p", options("a"))
	drive.Hold(t, a)
	b, _ := campaign(drive.Context(t), t, s.URL()+"/p", options("b"))
	const rounds = 30
	before := warnings(s)
	for range rounds {
		drive.Renew(t, a)
		drive.Renew(t, b)
	}
	drive.Eventually(t, drive.Patience, "each has one connection", func() bool { return connections(s) == 2 })
	if n := warnings(s) - before; n > rounds/5 { // on a busy machine, some may be late
		t.Errorf("%d renewals left %d warnings in the server's log", 2*rounds, n)
	}
}

// testConnectionsThatServersKeep checks that the client closes connections that the server
// keeps, and that this delays a renewal only briefly, and not every one.
func testConnectionsThatServersKeep(t *testing.T, s *root) {
	m := intercept(t, s)
	m.keeps()
	l := open(t, m.url()+"/p", options("a"))
	drive.Hold(t, l)
	atOnce := 0
	for range 6 {
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if err := l.Renew(ctx); err != nil {
			t.Errorf("renew: %v", err)
		}
		cancel()
		if time.Since(start) < 200*time.Millisecond {
			atOnce++
		}
	}
	if atOnce == 0 { // want every other renewal
		t.Error("all renewals waited for the server to close a connection")
	}
	drive.Eventually(t, drive.Patience, "one connection is left", func() bool { return m.connections() == 1 })
	drive.Release(t, l)
	drive.Eventually(t, drive.Patience, "none is left", func() bool { return m.connections() == 0 })
}
