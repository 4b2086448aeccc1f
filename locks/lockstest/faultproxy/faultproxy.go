// Package faultproxy is a TCP proxy for tests that makes the network between a
// client and a server fail in the ways real networks do.
//
// Cut data is held back rather than dropped, as TCP would retransmit it: it vanishes
// while the cut lasts, and arrives late if the connection still exists when the cut ends.
// Cut, then Reset, then Heal makes it vanish for good.
package faultproxy

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// A Proxy forwards connections to one address. Its methods may be called concurrently.
// Each fault lasts until Heal.
type Proxy struct {
	listener *net.TCPListener
	target   string
	closed   chan struct{}
	wg       sync.WaitGroup

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced with each change of faults
	faults   faults
	pairs    []*pair
	accepted int
	hold     int // the piece of a request that is to be held back, from 1; 0: none
}

// faults is what is wrong with the network at one moment.
type faults struct {
	requests, replies way
	refuse            bool
}

// A pair is one proxied connection.
type pair struct {
	client, server *net.TCPConn
	silent         atomic.Bool
	late           atomic.Bool // it has been silent, and what was held back has arrived
	unable         atomic.Bool // its requests are answered with 503
	once           sync.Once
	done           chan struct{}
}

// New starts a proxy to target ("host:port") on a free port of 127.0.0.1. It ends with
// the test.
func New(tb testing.TB, target string) *Proxy {
	tb.Helper()
	return NewAt(tb, net.IPv4(127, 0, 0, 1), 0, target)
}

// NewAt is New on another address of this machine. Port 0 is any free port.
func NewAt(tb testing.TB, ip net.IP, port int, target string) *Proxy {
	tb.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: ip, Port: port})
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{listener: l, target: target, closed: make(chan struct{}), changed: make(chan struct{})}
	p.wg.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// Addr returns the address to connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Refuse resets all connections, and each new one.
func (p *Proxy) Refuse() {
	p.set(func(f *faults) { f.refuse = true })
	p.Reset()
}

// Silence makes everything vanish on the present connections, until Land: as if something in
// between had forgotten them, or they led to a server that is frozen, of several with one
// address.
func (p *Proxy) Silence() { p.present(func(c *pair) { c.silent.Store(true) }) }

// HoldNth makes a connection silent, as Silence does, with the nth piece of data that clients
// send from now on; 0 is the next.
func (p *Proxy) HoldNth(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = n + 1
}

// Land lets what silent connections have held back arrive, also if their clients have gone.
// It ends HoldNth.
func (p *Proxy) Land() {
	p.mu.Lock()
	p.hold = 0
	p.mu.Unlock()
	p.present(func(c *pair) {
		if c.silent.Load() {
			c.late.Store(true)
			c.silent.Store(false)
		}
	})
	p.set(func(*faults) {})
}

// Unable makes the present connections answer each request of HTTP/1.1 with 503, for good: as if
// they led to a server that cannot serve, of several with one address.
func (p *Proxy) Unable() { p.present(func(c *pair) { c.unable.Store(true) }) }

// present does something to the present connections.
func (p *Proxy) present(do func(*pair)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.pairs {
		do(c)
	}
}

// Heal ends all faults but Silence, HoldNth and Unable. Connections that were cut continue where they were.
func (p *Proxy) Heal() { p.set(func(f *faults) { *f = faults{} }) }

// Reset resets the present connections. Data that was held back is lost.
func (p *Proxy) Reset() {
	p.mu.Lock()
	pairs := slices.Clone(p.pairs)
	p.mu.Unlock()
	for _, c := range pairs {
		c.reset()
	}
}

// Open returns the present number of connections.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pairs)
}

// Accepted returns the number of connections since the start.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

func (p *Proxy) set(change func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.faults)
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) now() (faults, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults, p.changed
}

func (p *Proxy) close() {
	close(p.closed)
	_ = p.listener.Close()
	p.Reset()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.AcceptTCP()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(conn) })
	}
}

func (p *Proxy) serve(client *net.TCPConn) {
	c := &pair{client: client, done: make(chan struct{})}
	defer c.reset() // after a regular end there is nothing left to reset
	p.mu.Lock()
	p.accepted++
	refuse := p.faults.refuse
	p.mu.Unlock()
	if refuse {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	c.server = server.(*net.TCPConn)
	if !p.add(c) {
		return
	}
	defer p.remove(c)
	var wg sync.WaitGroup
	wg.Go(func() { p.forward(c, c.server, client, func(f faults) way { return f.requests }) })
	wg.Go(func() { p.forward(c, client, c.server, func(f faults) way { return f.replies }) })
	wg.Wait()
	c.end(false)
}

func (p *Proxy) add(c *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		return false
	default:
	}
	if p.faults.refuse {
		return false
	}
	p.pairs = append(p.pairs, c)
	return true
}

func (p *Proxy) remove(c *pair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pairs = slices.DeleteFunc(p.pairs, func(o *pair) bool { return o == c })
}

// reset ends the connection with a RST to both sides.
func (c *pair) reset() { c.end(true) }

func (c *pair) end(reset bool) {
	c.once.Do(func() {
		close(c.done)
		for _, conn := range []*net.TCPConn{c.client, c.server} {
			if conn == nil {
				continue
			}
			if reset {
				_ = conn.SetLinger(0)
			}
			_ = conn.Close()
		}
	})
}
