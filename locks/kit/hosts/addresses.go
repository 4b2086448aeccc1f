package hosts

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
)

// Addresses looks a "host:port" up, until ctx ends. The order is the same everywhere, with IPv4
// before IPv6.
func Addresses(ctx context.Context, name string) (all []netip.AddrPort, err error) {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for _, ip := range ips {
		all = append(all, netip.AddrPortFrom(ip.Unmap(), uint16(n)))
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all), err
}

// Ours reports whether an address is this machine's.
func Ours(ip netip.Addr) bool {
	if ip.IsLoopback() {
		return true
	}
	all, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr() == ip
	})
}
