// Package hosts reads the servers that a user names.
package hosts

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// Parse reads a list like "a,b:1,[::1]:2", and gives a port to those without one. An empty
// list is this machine. Errors wrap locks.ErrUsage; from says where the list was.
func Parse(list, from, port string) ([]string, error) {
	if list == "" {
		return []string{net.JoinHostPort("127.0.0.1", port)}, nil
	}
	var all []string
	for item := range strings.SplitSeq(list, ",") {
		addr, err := parse(strings.TrimSpace(item), port)
		if err != nil {
			return nil, locks.Usagef("%s: server %q %v", from, locks.Abbreviate(locks.RedactText(item)), err)
		}
		all = append(all, addr)
	}
	return all, nil
}

func parse(s, usual string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), usual
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
