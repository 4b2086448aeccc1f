package hosts

import (
	"context"
	"net"
	"time"
)

// A Dial makes connections, as [net.Dialer.DialContext] does.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// another is how long an address has to accept a connection before the next one is tried as well,
// as RFC 8305 recommends.
const another = 250 * time.Millisecond

// Dialer returns a Dial that connects to the first address of a name that accepts. One that does
// not answer costs little of the time that a request has; of net.Dialer it gets half.
func Dialer(dial Dial) Dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if network == "unix" {
			return dial(ctx, network, addr)
		}
		all := new(Search).resolve(ctx, addr)
		if len(all) == 1 {
			return dial(ctx, network, addr) // if there is none, its error is the usual one
		}
		return race(ctx, all, func(ctx context.Context, addr string) (net.Conn, error) { return dial(ctx, network, addr) })
	}
}

// race connects to one of some addresses. If none accepts, the error is that of the first.
func race(ctx context.Context, addrs []string, dial func(ctx context.Context, addr string) (net.Conn, error)) (net.Conn, error) {
	type result struct {
		addr string
		conn net.Conn
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result)
	waiting := 0
	begin := func() {
		addr := addrs[0]
		addrs = addrs[1:]
		waiting++
		go func() {
			conn, err := dial(ctx, addr)
			results <- result{addr, conn, err}
		}()
	}
	first := addrs[0]
	var failed error
	for begin(); waiting > 0; {
		var next <-chan time.Time
		if len(addrs) > 0 {
			next = time.After(another)
		}
		select {
		case <-next:
			begin()
		case r := <-results:
			waiting--
			if r.err == nil {
				go func() {
					for range waiting {
						if r := <-results; r.err == nil {
							_ = r.conn.Close() // it was too late
						}
					}
				}()
				return r.conn, nil
			}
			if failed == nil || r.addr == first {
				failed = r.err
			}
			if len(addrs) > 0 {
				begin()
			}
		}
	}
	return nil, failed
}
