package etcd

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/etcd/etcdinfo"
	"github.com/leaderrun/leaderrun/locks/tlsfiles"
)

const defaultPrefix = "/leaderrun"

// settings are what a URL and the environment say.
type settings struct {
	endpoints []string         // as clientv3 takes them: "http://host:port", "https://host:port"
	prefix    string           // "/a/b": no slash at the end
	tls       *tlsfiles.Source // nil: TLS is not spoken
	certs     *certificates    // notes what connections depend on; nil: nobody does
	user      string
	password  password
}

// parse reads a URL, and for what it leaves open the variables of etcdctl. All
// errors wrap locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string) (*settings, error) {
	if err := checkShape(u); err != nil {
		return nil, err
	}
	var s settings
	var err error
	if s.user, s.password, err = userAndPassword(u, getenv); err != nil {
		return nil, err
	}
	if s.prefix, err = prefix(u, getenv); err != nil {
		return nil, err
	}
	addrs, err := endpoints(u, getenv)
	if err != nil {
		return nil, err
	}
	if s.tls, err = newTLS(u, getenv, addrs); err != nil {
		return nil, err
	}
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	for _, a := range addrs {
		s.endpoints = append(s.endpoints, a.url(scheme))
	}
	return &s, nil
}

// config returns the configuration of TLS for a new connection.
func (s *settings) config() *tls.Config {
	c := s.tls.Config()
	if s.certs != nil {
		s.certs.observe(c)
	}
	return c
}

func checkShape(u *url.URL) error {
	if u.Opaque != "" {
		return locks.Usagef("an etcd URL is written etcd://host:port/prefix, with two slashes")
	}
	if u.Fragment != "" {
		return locks.Usagef("an etcd URL has no part after #")
	}
	return etcdinfo.Info.CheckParams(u)
}

func prefix(u *url.URL, getenv func(string) string) (string, error) {
	p := strings.Trim(u.Path, "/")
	if p == "" {
		p = strings.Trim(getenv("LEADERRUN_ETCD_PREFIX"), "/")
	}
	if p == "" {
		return defaultPrefix, nil
	}
	if strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return "", locks.Usagef("the prefix of the etcd keys has a character that cannot be printed: %q", locks.Abbreviate(p))
	}
	return "/" + p, nil
}

// An endpoint is "host:port" and what its URL, if it was one, says about TLS.
type endpoint struct{ scheme, host string }

func endpoints(u *url.URL, getenv func(string) string) ([]endpoint, error) {
	list, from := u.Host, "the etcd URL"
	if list == "" {
		list, from = getenv("ETCDCTL_ENDPOINTS"), "ETCDCTL_ENDPOINTS"
	}
	if list == "" {
		return []endpoint{{"", net.JoinHostPort("127.0.0.1", etcdinfo.Info.Port)}}, nil
	}
	var out []endpoint
	for item := range strings.SplitSeq(list, ",") {
		e, err := parseEndpoint(strings.TrimSpace(item))
		if err != nil {
			return nil, locks.Usagef("%s: endpoint %q: %v", from, locks.Abbreviate(locks.RedactText(item)), err)
		}
		out = append(out, e)
	}
	if mixed := slices.ContainsFunc(out, func(e endpoint) bool { return e.scheme != out[0].scheme }); mixed {
		return nil, locks.Usagef("%s: http:// and https:// endpoints are mixed", from)
	}
	return out, nil
}

func parseEndpoint(s string) (endpoint, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "", s
	}
	if scheme != "" && scheme != "http" && scheme != "https" {
		return endpoint{}, fmt.Errorf("is neither host:port nor http:// nor https://")
	}
	rest = strings.TrimSuffix(rest, "/")
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(rest, "["), "]"), etcdinfo.Info.Port
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return endpoint{}, fmt.Errorf("has no port between 1 and 65535")
	}
	if host == "" || strings.ContainsAny(host, "/@[]?# ") || strings.Contains(host, ":") && net.ParseIP(beforeZone(host)) == nil {
		return endpoint{}, fmt.Errorf("has no valid host")
	}
	e := endpoint{scheme, net.JoinHostPort(host, port)}
	if u, err := url.Parse(e.url("http")); err != nil || u.Host != e.host {
		return endpoint{}, fmt.Errorf("has no valid host")
	}
	return e, nil
}

func (e endpoint) url(scheme string) string { return (&url.URL{Scheme: scheme, Host: e.host}).String() }

func beforeZone(host string) string {
	ip, _, _ := strings.Cut(host, "%")
	return ip
}
