package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

// A Net opens connections. Tests have one that can be cut.
type Net interface {
	ListenPacket() (net.PacketConn, error)
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// Real is the machine's network.
type Real struct{}

// ListenPacket implements [Net], for IPv4 and IPv6.
func (Real) ListenPacket() (net.PacketConn, error) { return net.ListenUDP("udp", nil) }

// Dial implements [Net].
func (Real) Dial(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// A Client talks to the voters of a group. Its methods may be called concurrently.
type Client struct {
	sealer *Sealer
	names  []string // "host:port", by seat
	net    Net
	conn   net.PacketConn
	done   chan struct{} // closed when nothing is received any more

	mu        sync.Mutex
	at        [][]netip.AddrPort // by seat
	failed    []error            // why a name has no address
	resolving bool
	resolved  time.Time
}

// NewClient begins to receive: heard is called with each packet, one after the other. The names
// are looked up first; it waits for that for a second at most. A name that has no address is tried
// again by [Client.Resolve].
func NewClient(ctx context.Context, n Net, sealer *Sealer, names []string, heard func(Packet)) (*Client, error) {
	conn, err := n.ListenPacket()
	if err != nil {
		return nil, Outage(err)
	}
	c := &Client{sealer: sealer, names: names, net: n, conn: conn, done: make(chan struct{}), at: make([][]netip.AddrPort, len(names)), failed: make([]error, len(names)), resolving: true}
	go c.receive(heard)
	known := make(chan struct{})
	go func() {
		defer close(known)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestLookup)
		defer cancel()
		c.resolve(ctx)
	}()
	select {
	case <-known:
	case <-time.After(time.Second): // some may be known
	case <-ctx.Done():
	}
	return c, nil
}

// Close ends the client. It waits until heard is called no more.
func (c *Client) Close() {
	_ = c.conn.Close()
	<-c.done
}

func (c *Client) receive(heard func(Packet)) {
	defer close(c.done)
	b := make([]byte, 64<<10)
	for {
		n, _, err := c.conn.ReadFrom(b)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // such as an ICMP message that nobody listens
			continue
		}
		plain, err := c.sealer.Open(b[:n])
		if err != nil {
			continue
		}
		if p, err := Decode(plain); err == nil {
			heard(p)
		}
	}
}

// resolvePause is the least time between two lookups of the names.
const resolvePause = time.Second

// Resolve looks the names up again, in the background. Where a name is not found, its last
// addresses stay.
func (c *Client) Resolve() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resolving || time.Since(c.resolved) < resolvePause {
		return
	}
	c.resolving = true
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), longestLookup)
		defer cancel()
		c.resolve(ctx)
	}()
}

// longestLookup is the longest that a lookup may take.
const longestLookup = 5 * time.Second

func (c *Client) resolve(ctx context.Context) {
	var all sync.WaitGroup
	for seat, name := range c.names {
		all.Go(func() {
			at, err := hosts.Addresses(ctx, name)
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.failed[seat] = err; err == nil {
				c.at[seat] = at
			}
		})
	}
	all.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.withoutLoopback()
	c.resolving, c.resolved = false, time.Now()
}

// withoutLoopback drops loopback addresses, unless all seats are on this machine: Debian names
// the host itself in /etc/hosts as 127.0.1.1, where no voter listens. The caller holds c.mu.
func (c *Client) withoutLoopback() {
	loops := func(a netip.AddrPort) bool { return a.Addr().IsLoopback() }
	if slices.ContainsFunc(slices.Concat(c.at...), func(a netip.AddrPort) bool { return !loops(a) }) {
		for i := range c.at {
			c.at[i] = slices.DeleteFunc(slices.Clone(c.at[i]), loops)
		}
	}
}

// At returns where a seat is, as far as is known, and why that is not.
func (c *Client) At(seat int) ([]netip.AddrPort, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.at[seat]), c.failed[seat]
}

// Send sends a request to all addresses of a seat, over UDP. It may get lost.
func (c *Client) Send(seat int, p Packet) {
	at, _ := c.At(seat)
	c.SendTo(at, p)
}

// SendAll sends a request to all seats.
func (c *Client) SendAll(p Packet) {
	c.mu.Lock()
	at := slices.Concat(c.at...)
	c.mu.Unlock()
	c.SendTo(at, p)
}

// SendTo sends the same bytes to some addresses.
func (c *Client) SendTo(at []netip.AddrPort, p Packet) {
	plain, err := p.Encode()
	if err != nil {
		return
	}
	sealed := c.sealer.Seal(plain)
	for _, addr := range at {
		_, _ = c.conn.WriteTo(sealed, net.UDPAddrFromAddrPort(addr))
	}
}

// Call asks the voter in a seat, over TCP. Of several addresses of the seat it takes the first
// that answers. It blocks until then, or until ctx ends.
func (c *Client) Call(ctx context.Context, seat int, call *Call) (*Reply, error) {
	at, err := c.At(seat)
	if len(at) == 0 {
		if err == nil {
			err = fmt.Errorf("%s has no address but loopback ones, where no other host is; see /etc/hosts", c.names[seat])
		}
		return nil, Outage(err)
	}
	type result struct {
		reply *Reply
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result, len(at))
	for _, addr := range at {
		go func() {
			reply, err := c.CallAt(ctx, addr, call)
			results <- result{reply, err}
		}()
	}
	for range at {
		r := <-results
		if r.err == nil {
			return r.reply, nil
		}
		err = r.err
	}
	return nil, err
}

// CallAt asks the voter at an address.
func (c *Client) CallAt(ctx context.Context, addr netip.AddrPort, call *Call) (*Reply, error) {
	conn, err := c.net.Dial(ctx, addr.String())
	if err != nil {
		return nil, Outage(err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	asked := *call // there may be several attempts
	asked.Nonce = rand.Text()
	err = c.sealer.WriteCall(conn, &asked)
	var reply *Reply
	if err == nil {
		reply, err = c.sealer.ReadReply(conn)
	}
	if err == nil && reply.Nonce != asked.Nonce {
		err = errors.New("it answers another call")
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, Outage(fmt.Errorf("%s: %w", addr, err))
	}
	return reply, nil
}

// A Result is what a call has come to.
type Result struct {
	Reply *Reply
	Err   error // why there is no reply
}

// callPause is the pause between two attempts at one voter, which may be starting.
const callPause = 200 * time.Millisecond

// CallAll asks all voters at once, each until it has answered or ctx has ended, and yields the
// results by seat as they come.
func (c *Client) CallAll(ctx context.Context, call *Call) iter.Seq2[int, Result] {
	return func(yield func(int, Result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		type result struct {
			seat int
			Result
		}
		results := make(chan result, len(c.names))
		for seat := range c.names {
			go func() {
				var failed error
				for {
					reply, err := c.Call(ctx, seat, call)
					if failed == nil || ctx.Err() == nil { // then the error says more
						failed = err
					}
					if err == nil || backoff.Sleep(ctx, callPause) != nil {
						results <- result{seat, Result{reply, failed}}
						return
					}
				}
			}()
		}
		for range c.names {
			if r := <-results; !yield(r.seat, r.Result) {
				return
			}
		}
	}
}

// Outage makes an error a [locks.ErrUnavailable], with its own text.
func Outage(err error) error { return outage{err} }

type outage struct{ error }

func (o outage) Unwrap() []error { return []error{locks.ErrUnavailable, o.error} }
