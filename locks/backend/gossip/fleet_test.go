package gossip

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest"
)

// A fleet is the network of the members of a test, which can be cut.
type fleet struct {
	mu   sync.Mutex
	cuts map[netip.Addr]lockstest.Cut
}

func newFleet() *fleet { return &fleet{cuts: map[netip.Addr]lockstest.Cut{}} }

// open opens a handle whose network can be cut.
func (f *fleet) open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	return open(u, o, func(addr netip.AddrPort) (memberlist.NodeAwareTransport, error) {
		t, err := listen(addr)
		if err != nil {
			return nil, err
		}
		w := &wire{NodeAwareTransport: t, fleet: f, ip: addr.Addr(), arrived: make(chan *memberlist.Packet), streams: make(chan net.Conn), ended: make(chan struct{})}
		go w.filter()
		return w, nil
	})
}

func (f *fleet) cut(u *url.URL, how lockstest.Cut) (heal func()) {
	bind, _, _ := strings.Cut(u.Query().Get("bind"), ":")
	set := func(how lockstest.Cut) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.cuts[netip.MustParseAddr(bind)] = how
	}
	set(how)
	return func() { set("") }
}

func (f *fleet) how(ip netip.Addr) lockstest.Cut {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cuts[ip]
}

// A wire is a member's transport, which can be cut.
type wire struct {
	memberlist.NodeAwareTransport
	fleet   *fleet
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
