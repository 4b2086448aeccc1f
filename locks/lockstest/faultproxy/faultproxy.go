// Package faultproxy is a TCP proxy for tests that makes the network between a
// client and a server fail in the ways real networks do.
//
// What is cut is held back rather than thrown away, as TCP would: it vanishes
// for as long as the cut lasts, and if the connection is still there when it
// ends, arrives late. Cut, then Reset, then Heal makes it vanish for good.
package faultproxy

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// A Proxy forwards connections to one address. Its methods are safe for
// concurrent use; each fault lasts until Heal.
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
}

// faults is what is wrong with the network at a moment.
type faults struct {
	cutRequests, cutReplies, refuse bool
	delay                           time.Duration
}

// A pair is one proxied connection.
type pair struct {
	client, server *net.TCPConn
	once           sync.Once
	done           chan struct{}
}

// New starts a proxy to target ("host:port") on a free port of 127.0.0.1. It
// ends with the test.
func New(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
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

// CutReplies makes what the server sends vanish.
func (p *Proxy) CutReplies() { p.set(func(f *faults) { f.cutReplies = true }) }

// CutRequests makes what the client sends vanish.
func (p *Proxy) CutRequests() { p.set(func(f *faults) { f.cutRequests = true }) }

// CutAll makes everything vanish: a black hole. New connections are accepted,
// as a connection tracker in between would.
func (p *Proxy) CutAll() { p.set(func(f *faults) { f.cutRequests, f.cutReplies = true, true }) }

// Delay holds each piece of data back for d, in each direction.
func (p *Proxy) Delay(d time.Duration) { p.set(func(f *faults) { f.delay = d }) }

// Refuse resets all connections, and each new one.
func (p *Proxy) Refuse() {
	p.set(func(f *faults) { f.refuse = true })
	p.Reset()
}

// Heal ends all faults. Connections that were cut go on where they were.
func (p *Proxy) Heal() { p.set(func(f *faults) { *f = faults{} }) }

// Reset resets the connections there are now. What was held back is lost.
func (p *Proxy) Reset() {
	p.mu.Lock()
	pairs := slices.Clone(p.pairs)
	p.mu.Unlock()
	for _, c := range pairs {
		c.reset()
	}
}

// Open returns the number of connections at this moment.
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
	defer c.reset() // after a regular end it finds nothing left to reset
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
	wg.Go(func() { p.forward(c, c.server, client, func(f faults) bool { return f.cutRequests }) })
	wg.Go(func() { p.forward(c, client, c.server, func(f faults) bool { return f.cutReplies }) })
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

// forward copies one direction until its source ends, subject to the faults.
func (p *Proxy) forward(c *pair, dst, src *net.TCPConn, cut func(faults) bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if !p.pass(c, cut) {
			return
		}
		if _, werr := dst.Write(buf[:n]); werr != nil {
			c.reset()
			return
		}
		if errors.Is(err, io.EOF) {
			_ = dst.CloseWrite()
			return
		}
		if err != nil {
			c.reset()
			return
		}
	}
}

// pass waits until the network lets data through; false if the connection
// ended meanwhile.
func (p *Proxy) pass(c *pair, cut func(faults) bool) bool {
	f, changed := p.now()
	if f.delay > 0 {
		select {
		case <-time.After(f.delay):
		case <-c.done:
			return false
		}
		f, changed = p.now()
	}
	for cut(f) {
		select {
		case <-changed:
		case <-c.done:
			return false
		}
		f, changed = p.now()
	}
	return true
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
