// Package hosts parses lists of servers, as users write them, and finds their addresses.
package hosts

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// Local reports whether an address, "host:port" or the path of a socket, is on this machine.
func Local(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return strings.HasPrefix(addr, "/")
	}
	ip, _ := netip.ParseAddr(host)
	return host == "localhost" || ip.Unmap().IsLoopback()
}

// Parse parses a list like "a,b:1,[::1]:2". Servers without a port get the given one. An empty
// list means this machine. Errors wrap locks.ErrUsage; from says where the list comes from.
func Parse(list, from, port string) ([]string, error) {
	if list == "" {
		return []string{net.JoinHostPort("127.0.0.1", port)}, nil
	}
	var all []string
	for item := range strings.SplitSeq(list, ",") {
		addr, err := parse(strings.TrimSpace(item), port)
		if err != nil {
			return nil, locks.Usagef("%s: server %q %v", from, locks.Abbreviate(item), err)
		}
		all = append(all, addr)
	}
	return all, nil
}

func parse(s, defaultPort string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), defaultPort
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", errors.New("has no port between 1 and 65535")
	}
	addr := net.JoinHostPort(host, port)
	if _, err := url.Parse((&url.URL{Scheme: "x", Host: addr}).String()); host == "" || err != nil {
		return "", errors.New("has no valid host")
	}
	return addr, nil
}
