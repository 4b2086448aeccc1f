package quorum

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/quorumtest"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

func TestMain(m *testing.M) { drive.Main(m, "4") }

func TestConformance(t *testing.T) {
	lockstest.Run(t, newFleet(t).config())
}

func TestSlots(t *testing.T) {
	c := newFleet(t).config()
	c.Recipe = true // slots are one
	lockstest.RunSlots(t, c)
}

// A fleet is three voters, and the cuts between them and the hosts that ask them.
type fleet struct {
	*quorumtest.Voters
	tests atomic.Int64
	mu    sync.Mutex
	cuts  map[string]lockstest.Cut // of the hosts with a URL
}

const longest = 10 * time.Second

func newFleet(t *testing.T) *fleet {
	f := &fleet{Voters: quorumtest.New(t, 3, longest), cuts: map[string]lockstest.Cut{}}
	f.Start()
	f.Open()
	return f
}

func (f *fleet) config() lockstest.Config {
	return lockstest.Config{
		Open: f.open, URL: f.url, TTL: 2 * time.Second, MaxTTL: longest, Polling: time.Second, Unwatched: true, ReportsLeft: true,
		WatchDelay: time.Second, Delayed: true, Abilities: known.Quorum.Abilities,
		Cut: func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) {
			f.set(u, how)
			return func() { f.set(u, "") }
		},
		Twin: func(_ testing.TB, u *url.URL) *url.URL { // the same hosts in another order
			first, rest, _ := strings.Cut(u.Host, ",")
			at := *u
			at.Host = rest + "," + first
			return &at
		},
		Restart: func(testing.TB, *url.URL) {
			for i := range f.Names {
				f.Stop(i)
			}
			f.Start()
		},
		Leftovers: func(t testing.TB, u *url.URL) []string {
			return f.stored(t, u, func(l locks.Listed) bool { return l.Status.Held })
		},
		Kept: func(t testing.TB, u *url.URL) []string {
			return f.stored(t, u, func(locks.Listed) bool { return true })
		},
	}
}

// url returns a space of its own.
func (f *fleet) url(t testing.TB) *url.URL {
	u, err := url.Parse(f.URL(fmt.Sprint("test", f.tests.Add(1))))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (f *fleet) open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	l, err := open(u, o, &cutNet{f, u.String()})
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (f *fleet) stored(t testing.TB, u *url.URL, which func(locks.Listed) bool) (all []string) {
	l, err := Open(t.Context(), u, locks.Options{Name: "list", ConnectTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	err = locks.Pages(func(cursor string) ([]locks.Listed, string, error) {
		return l.(locks.Lister).List(t.Context(), cursor) //nolint:forcetypeassert // it is one
	}, func(page []locks.Listed) {
		for _, one := range page {
			if which(one) {
				all = append(all, one.Name)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (f *fleet) set(u *url.URL, how lockstest.Cut) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cuts[u.String()] = how
}

func (f *fleet) how(at string) lockstest.Cut {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cuts[at]
}

// cut reports whether packets are lost.
func cut(how lockstest.Cut) bool { return how != "" && how.Lasting() }

// A cutNet is a host's network, which can be cut.
type cutNet struct {
	fleet *fleet
	at    string
}

func (n *cutNet) ListenPacket() (net.PacketConn, error) {
	conn, err := net.ListenUDP("udp", nil)
	return &cutPackets{conn, n}, err
}

func (n *cutNet) Dial(ctx context.Context, address string) (net.Conn, error) {
	if n.fleet.how(n.at) == lockstest.CutReset {
		return nil, fmt.Errorf("reset")
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &cutConn{conn, n}, nil
}

type cutPackets struct {
	net.PacketConn
	net *cutNet
}

func (c *cutPackets) WriteTo(b []byte, addr net.Addr) (int, error) {
	if how := c.net.fleet.how(c.net.at); cut(how) && how != lockstest.CutReplies {
		return len(b), nil
	}
	return c.PacketConn.WriteTo(b, addr)
}

func (c *cutPackets) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, addr, err := c.PacketConn.ReadFrom(b)
		if err != nil || !cut(c.net.fleet.how(c.net.at)) {
			return n, addr, err
		}
	}
}

// A cutConn is a connection for one call.
type cutConn struct {
	net.Conn
	net *cutNet
}

func (c *cutConn) Write(b []byte) (int, error) {
	if how := c.net.fleet.how(c.net.at); cut(how) && how != lockstest.CutReplies {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *cutConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err == nil && cut(c.net.fleet.how(c.net.at)) {
			continue
		}
		return n, err
	}
}
