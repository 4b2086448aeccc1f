package kubernetes

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/kubernetes/kubetest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// balance returns an address from which new connections lead to one of two servers.
func balance(t *testing.T, servers ...*kubetest.Server) (addr string, choose func(n int)) {
	t.Helper()
	var chosen atomic.Int64
	return drive.Listen(t, func(c net.Conn) {
		to, err := net.Dial("tcp", servers[chosen.Load()].Addr())
		if err != nil {
			return
		}
		var both sync.WaitGroup
		for _, way := range [][2]net.Conn{{c, to}, {to, c}} {
			both.Go(func() { _, _ = io.Copy(way[0], way[1]); _ = c.Close(); _ = to.Close() })
		}
		both.Wait()
	}), func(n int) { chosen.Store(int64(n)) }
}

// TestRollingUpgrade replaces the server behind a balancer, in order and by freezing it. The holder
// renews, and a waiter gets the lock, over connections to the other one.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	first := kubetest.Start(t)
	second := first.Another()
	addr, choose := balance(t, first, second)
	u := first.URL(addr, first.Namespace(), kubetest.AsAdmin()).String()
	o := electionOptions("a")
	o.TTL = time.Minute
	l := drive.Open(t, Open, u, o)
	grant := drive.Hold(t, l)
	o.Holder = "b"
	waiter, got := drive.Campaign(drive.Context(t), t, Open, u, o)
	choose(1)
	if err := syscall.Kill(first.PID(), syscall.SIGTERM); err != nil { // it ends when its watches have ended
		t.Fatal(err)
	}
	renews := func(l locks.Lock, what string) {
		t.Helper()
		drive.Eventually(t, drive.Patience, what, func() bool {
			ctx, cancel := context.WithTimeout(drive.Context(t), 2*time.Second)
			defer cancel()
			return l.Renew(ctx) == nil
		})
	}
	renews(l, "a renewal while the first server stops")
	drive.Release(t, l)
	next := drive.Within(t, drive.Patience, got)
	if next.Err != nil || next.Grant.Token <= grant.Token {
		t.Fatalf("the waiter got %+v after %+v", next, grant)
	}
	first.Kill()
	first.Start()
	choose(0)
	second.Pause()
	defer second.Resume()
	renews(waiter, "a renewal after the second server has frozen")
}
