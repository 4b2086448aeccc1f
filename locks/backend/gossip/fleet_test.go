package gossip

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/votes"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest"
)

// Fleets are those of all tests, and the ways to cut their members off.
type fleets struct {
	tests atomic.Int64
	mu    sync.Mutex
	cuts  map[netip.Addr]lockstest.Cut
}

func newFleets() *fleets { return &fleets{cuts: map[netip.Addr]lockstest.Cut{}} }

// start starts a fleet of voters that have been there for long, and returns its address.
func (f *fleets) start(t testing.TB, seats int, longest time.Duration) *url.URL {
	s := &settings{group: votes.Group{Seats: seats, Longest: longest}}
	var seeds []string
	for range seats {
		n, err := s.newNode(listen, netip.MustParseAddrPort("127.0.0.1:0"), role{votes: true, version: "test", heard: func(packet, *votes.Message) {}})
		if err != nil {
			t.Fatal(err)
		}
		n.seat.mu.Lock()
		n.seat.started = clock.Boot{}.Now().Add(-longest)
		n.seat.mu.Unlock()
		t.Cleanup(n.close)
		seeds = append(seeds, n.addr.String())
	}
	return f.twin(&url.URL{
		Scheme: "gossip", Host: strings.Join(seeds, ","),
		RawQuery: url.Values{"expect": {fmt.Sprint(seats)}, "longest": {longest.String()}}.Encode(),
	})
}

// twin returns another address of a fleet. The members of each address speak from their own
// IP address, and do not vote.
func (f *fleets) twin(u *url.URL) *url.URL {
	n, at, q := f.tests.Add(1), *u, u.Query()
	q.Set("bind", fmt.Sprintf("127.1.%d.%d:0", n/200, n%200+1))
	at.RawQuery = q.Encode()
	return &at
}

// open opens a handle whose network can be cut.
func (f *fleets) open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	l, err := open(u, o, func(addr netip.AddrPort) (memberlist.NodeAwareTransport, error) {
		t, err := listen(addr)
		if err != nil {
			return nil, err
		}
		w := &wire{NodeAwareTransport: t, fleet: f, ip: addr.Addr(), arrived: make(chan *memberlist.Packet), streams: make(chan net.Conn), ended: make(chan struct{})}
		go w.filter()
		return w, nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (f *fleets) cut(u *url.URL, how lockstest.Cut) (heal func()) {
	bind, _, _ := strings.Cut(u.Query().Get("bind"), ":")
	set := func(how lockstest.Cut) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.cuts[netip.MustParseAddr(bind)] = how
	}
	set(how)
	return func() { set("") }
}

func (f *fleets) how(ip netip.Addr) lockstest.Cut {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cuts[ip]
}

// A wire is a member's transport, which can be cut.
type wire struct {
	memberlist.NodeAwareTransport
	fleet   *fleets
	ip      netip.Addr
	arrived chan *memberlist.Packet
	streams chan net.Conn
	ended   chan struct{}
	once    sync.Once
}

func (w *wire) filter() {
	for {
		select {
		case p := <-w.NodeAwareTransport.PacketCh():
			if w.fleet.how(w.ip) != "" {
				continue
			}
			select {
			case w.arrived <- p:
			case <-w.ended:
				return
			}
		case c := <-w.NodeAwareTransport.StreamCh():
			if w.fleet.how(w.ip) != "" {
				_ = c.Close() // as after a reset
				continue
			}
			select {
			case w.streams <- c:
			case <-w.ended:
				return
			}
		case <-w.ended:
			return
		}
	}
}

func (w *wire) PacketCh() <-chan *memberlist.Packet { return w.arrived }

func (w *wire) StreamCh() <-chan net.Conn { return w.streams }

func (w *wire) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	if how := w.fleet.how(w.ip); how != "" && how != lockstest.CutReplies {
		return time.Now(), nil
	}
	return w.NodeAwareTransport.WriteToAddress(b, a)
}

func (w *wire) DialAddressTimeout(a memberlist.Address, d time.Duration) (net.Conn, error) {
	if w.fleet.how(w.ip) != "" {
		return nil, fmt.Errorf("cut")
	}
	return w.NodeAwareTransport.DialAddressTimeout(a, d)
}

func (w *wire) Shutdown() error {
	err := w.NodeAwareTransport.Shutdown()
	w.once.Do(func() { close(w.ended) })
	return err
}
