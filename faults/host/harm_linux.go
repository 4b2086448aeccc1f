package host

import (
	"net"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

// gateway is the address at which the host finds the proxies.
func (h *Host) gateway() net.IP {
	if h.network == nil {
		return net.IPv4(127, 0, 0, 1)
	}
	return h.network.us.AsSlice()
}

// Addr is where the host finds a server, which is one of Options.Servers.
func (h *Host) Addr(server string) string { return h.Proxy(server).Addr() }

// Addrs is where the host finds the servers, in their order.
func (h *Host) Addrs() []string {
	var all []string
	for _, p := range h.Proxies() {
		all = append(all, p.Addr())
	}
	return all
}

// Proxies are those before the servers, in the same order.
func (h *Host) Proxies() []*faultproxy.Proxy {
	var all []*faultproxy.Proxy
	for _, s := range h.servers {
		all = append(all, h.Proxy(s))
	}
	return all
}

// Proxy is the proxy between the host and one server, to harm only the connections with
// that server.
func (h *Host) Proxy(server string) *faultproxy.Proxy {
	p, ok := h.proxies[server]
	if !ok {
		panic("not in Options.Servers: " + strconv.Quote(server))
	}
	return p
}

// Blackhole silently loses all packets between the host and the servers, until Heal.
// With a Proxied network the proxies hold back the data instead.
func (h *Host) Blackhole() {
	h.tb.Helper()
	h.BlackholeRequests()
	h.BlackholeReplies()
}

// BlackholeRequests loses what the host sends, including acknowledgements: a server
// that keeps sending finds out in the end.
func (h *Host) BlackholeRequests() {
	h.tb.Helper()
	if h.network != nil {
		h.check(h.network.requests(nowhere))
		return
	}
	h.each((*faultproxy.Proxy).CutRequests)
}

// BlackholeReplies loses what is sent to the host. The host cannot make new connections,
// but what it sends on old ones arrives.
func (h *Host) BlackholeReplies() {
	h.tb.Helper()
	if h.network != nil {
		h.check(h.network.replies(nowhere))
		return
	}
	h.each((*faultproxy.Proxy).CutReplies)
}

// Alias is another address of the first server, or "" if the host has no network. It leads
// to that server's proxy.
func (h *Host) Alias() string { return h.alias }

// ServerName is a name of the first server for which the host finds two addresses, first that of Alias,
// with their port; "" if it can have none.
func (h *Host) ServerName() string { return h.named }

// LoseAlias silently loses what the host sends to Alias, until Heal.
func (h *Host) LoseAlias() {
	h.tb.Helper()
	n := h.network
	h.check(h.thread.do(func() error { return ip(n.neighbour(n.alias, "eth0", nowhere)) }))
}

// Address is where other hosts reach this one, or "" if it has no network.
func (h *Host) Address() string {
	if h.network == nil {
		return ""
	}
	return h.network.host.String()
}

// Lose loses what the host sends to another one, until heal is called. Both have networks.
func (h *Host) Lose(to *Host) (heal func()) {
	h.tb.Helper()
	route := func(verb string) func() error {
		return func() error { return ip("route " + verb + " blackhole " + to.network.host.String()) }
	}
	h.check(h.thread.do(route("add")))
	return func() { h.check(h.thread.do(route("del"))) }
}

// Reset resets the host's connections at the proxies, both halves of each. A connection
// that is being made at that moment escapes, unlike with Refuse.
func (h *Host) Reset() { h.each((*faultproxy.Proxy).Reset) }

// Refuse resets the host's connections, and each new one.
func (h *Host) Refuse() { h.each((*faultproxy.Proxy).Refuse) }

// Delay delays everything that passes the proxies, as [faultproxy.Proxy.Delay] does.
func (h *Host) Delay(d time.Duration) { h.each(func(p *faultproxy.Proxy) { p.Delay(d) }) }

// Heal ends the faults of the network. Connections whose packets were lost continue
// when the kernel tries again, which it does ever more rarely: after a black hole of
// ten seconds that may take another ten.
func (h *Host) Heal() {
	h.tb.Helper()
	h.each((*faultproxy.Proxy).Heal)
	if h.network != nil {
		h.check(h.network.requests(ourMAC))
		h.check(h.network.replies(hostMAC))
	}
}

func (h *Host) each(f func(*faultproxy.Proxy)) {
	for _, p := range h.Proxies() {
		f(p)
	}
}

// check reports the error of an operation that must not fail. It may be called by any
// goroutine.
func (h *Host) check(err error) {
	h.tb.Helper()
	if err != nil {
		h.tb.Errorf("%s: %v", h.name, err)
	}
}
