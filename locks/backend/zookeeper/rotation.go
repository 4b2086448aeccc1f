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
	server string // "host:port" as given: TLS expects this name in the certificate
	addr   string // "10.0.0.1:2181"; the server's name if it has no address
	err    error  // why it has none
}

func (e endpoint) String() string {
	if e.addr == e.server {
		return e.server
	}
	return e.server + " (" + e.addr + ")"
}

// A rotation goes through all addresses in rounds. The name of a
// server may have several addresses, like that of a headless service in Kubernetes,
// and these change. So a round begins by looking up all names, and then uses
// each address once, in random order. A success ends the round: when the connection breaks
// much later, its other addresses may no longer exist.
type rotation struct {
	servers []string
	known   map[string][]endpoint // the addresses of each server at its last look-up
	left    []endpoint            // the rest of this round, from the current address on
	size    int                   // of this round; before the first, the number of servers
	begun   bool                  // the current address has been used
	last    string                // the address before the current one
}

func newRotation(servers []string) rotation {
	return rotation{servers: servers, size: len(servers), known: map[string][]endpoint{}}
}

// next moves on to the next address.
func (t *rotation) next() {
	if len(t.left) > 0 {
		t.last, t.left, t.begun = t.left[0].addr, t.left[1:], false
	}
}

// round begins a round with the addresses that were found. A server that cannot be looked up
// now keeps its addresses. The last address of the last round does not come first.
func (t *rotation) round(found map[string][]endpoint) {
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

func (t *rotation) swap(i, j int) { t.left[i], t.left[j] = t.left[j], t.left[i] }

// settle ends a round after a success.
func (t *rotation) settle(e endpoint) { t.left, t.begun = []endpoint{e}, true }

// lookUp returns the addresses of each server, or the error of looking it up.
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
