package hosts

import (
	"context"
	"iter"
	"net"
	"slices"
	"sync"
	"time"
)

// An Address is one of those that a server may have.
type Address struct {
	Server string // "host:port", as the user wrote it, or the path of a socket
	Addr   string // the same, with an IP address instead of a name
}

// A Search looks for a server that answers. The zero value is ready to use.
type Search struct {
	Lookup func(ctx context.Context, host string) ([]string, error) // nil: by the system's resolver

	mu   sync.Mutex
	last Address
}

// Found notes the address that the next search begins with.
func (s *Search) Found(a Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = a
}

// Each returns the addresses of servers in turn, each with a context for its share of the time
// that is left: those that do not answer, as of a machine that is off, leave time for the
// others. The address of a name that cannot be resolved is the name itself, so whoever dials it
// gets the error.
func (s *Search) Each(ctx context.Context, servers []string, left time.Duration) iter.Seq2[context.Context, Address] {
	return func(yield func(context.Context, Address) bool) {
		s.mu.Lock()
		last := s.last
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		servers := first(servers, last.Server)
		for i, server := range servers {
			ctx, cancel := share(ctx, len(servers)-i)
			defer cancel()
			addrs := first(s.resolve(ctx, server), last.Addr)
			for j, addr := range addrs {
				ctx, cancel := share(ctx, len(addrs)-j)
				defer cancel()
				if !yield(ctx, Address{server, addr}) {
					return
				}
			}
		}
	}
}

// resolve returns the addresses of a server.
func (s *Search) resolve(ctx context.Context, server string) []string {
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return []string{server}
	}
	lookup := s.Lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupHost
	}
	ips, err := lookup(ctx, host)
	if err != nil || len(ips) == 0 {
		return []string{server}
	}
	addrs := make([]string, len(ips))
	for i, ip := range ips {
		addrs[i] = net.JoinHostPort(ip, port)
	}
	return addrs
}

// share returns a context for an n-th of the time that ctx has left.
func share(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	end, _ := ctx.Deadline() // Each has set one
	return context.WithTimeout(ctx, time.Until(end)/time.Duration(n))
}

// first returns a list with one of its items, if it is there, at the front.
func first(all []string, one string) []string {
	if i := slices.Index(all, one); i > 0 {
		return slices.Concat(all[i:i+1], all[:i], all[i+1:])
	}
	return all
}
