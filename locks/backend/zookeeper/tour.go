package zookeeper

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
)

// An endpoint is one address of a server.
type endpoint struct {
	server string // "host:port" as given: TLS looks for this name in the certificate
	addr   string // "10.0.0.1:2181"; the server's name if it has no address
	err    error  // why it has none
}

func (e endpoint) String() string {
	if e.addr == e.server {
		return e.server
	}
	return e.server + " (" + e.addr + ")"
}

// A tour goes from one address to the next, round after round. The name of a
// server may have several addresses, as that of a headless service in Kubernetes,
// and these change. So a round begins with looking up all names, and then has
// each address once, shuffled. After a success the round is over: long after it,
// when the connection breaks, its other addresses may be nobody's any more.
type tour struct {
	servers []string
	known   map[string][]endpoint // what each server had when it was last looked up
	left    []endpoint            // of this round; the first is that whose turn it is
	size    int                   // of this round; before the first, the number of servers
	begun   bool                  // the turn of the first has begun
	last    string                // the address whose turn was before
}

func newTour(servers []string) tour {
	return tour{servers: servers, size: len(servers), known: map[string][]endpoint{}}
}

// next ends a turn.
func (t *tour) next() {
	if len(t.left) > 0 {
		t.last, t.left, t.begun = t.left[0].addr, t.left[1:], false
	}
}

// round begins a round with what was looked up. A server that cannot be looked up
// now keeps its addresses. The address whose turn was last is not the first.
func (t *tour) round(found map[string][]endpoint) {
	t.left = nil
	for server, now := range found {
		if before := t.known[server]; now[0].err == nil || before == nil || before[0].err != nil {
			t.known[server] = now
		}
		t.left = append(t.left, t.known[server]...)
	}
	rand.Shuffle(len(t.left), t.swap)
	t.size, t.begun = len(t.left), false
	if t.left[0].addr == t.last {
		t.swap(0, t.size-1)
	}
}

func (t *tour) swap(i, j int) { t.left[i], t.left[j] = t.left[j], t.left[i] }

// settle ends a round with a success.
func (t *tour) settle(e endpoint) { t.left, t.begun = []endpoint{e}, true }

// lookUp returns the addresses of each server, or why it has none.
func lookUp(ctx context.Context, servers []string) map[string][]endpoint {
	found := make([][]endpoint, len(servers))
	var wg sync.WaitGroup
	for i, server := range servers {
		wg.Go(func() { found[i] = addresses(ctx, server) })
	}
	wg.Wait()
	all := map[string][]endpoint{}
	for i, server := range servers {
		all[server] = found[i]
	}
	return all
}

func addresses(ctx context.Context, server string) (all []endpoint) {
	host, port, _ := net.SplitHostPort(server)
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return []endpoint{{server, server, err}}
	}
	slices.Sort(addrs)
	for _, addr := range slices.Compact(addrs) {
		all = append(all, endpoint{server: server, addr: net.JoinHostPort(addr, port)})
	}
	return all
}
