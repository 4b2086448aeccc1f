package etcd

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

const defaultPrefix = "/leaderrun"

// settings are what a URL and the environment say.
type settings struct {
	endpoints []string         // for clientv3: "http://host:port", "https://host:port"
	prefix    string           // "/a/b": no slash at the end
	tls       *tlsfiles.Source // nil: no TLS
	user      string
	password  password
}

// parse reads the URL, and takes what it omits from the variables of etcdctl. All
// errors wrap locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string) (*settings, error) {
	if err := known.Etcd.CheckURL(u); err != nil {
		return nil, err
	}
	if err := known.Etcd.CheckVariables(u, getenv); err != nil {
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
	all, scheme, err := servers(u, getenv)
	if err != nil {
		return nil, err
	}
	if s.tls, err = newTLS(u, getenv, scheme); err != nil {
		return nil, err
	}
	scheme = "http"
	if s.tls != nil {
		scheme = "https"
	}
	for _, server := range all {
		s.endpoints = append(s.endpoints, (&url.URL{Scheme: scheme, Host: server}).String())
	}
	return &s, nil
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

// servers returns "host:port" of each server, and the scheme if they are URLs.
func servers(u *url.URL, getenv func(string) string) (all []string, scheme string, err error) {
	list, from := u.Host, "the etcd URL"
	if list == "" {
		list, from = getenv("ETCDCTL_ENDPOINTS"), "ETCDCTL_ENDPOINTS"
	}
	items := strings.Split(list, ",")
	for i, item := range items {
		of, rest, ok := strings.Cut(strings.TrimSpace(item), "://")
		if !ok {
			of, rest = "", item
		}
		switch {
		case of != "" && of != "http" && of != "https":
			return nil, "", locks.Usagef("%s: invalid server %q (want host:port, http://host:port or https://host:port)", from, locks.Abbreviate(item))
		case i > 0 && of != scheme:
			return nil, "", locks.Usagef("%s: cannot mix http:// and https:// endpoints", from)
		}
		scheme, items[i] = of, strings.TrimSuffix(rest, "/")
	}
	all, err = hosts.Parse(strings.Join(items, ","), from, known.Etcd.Port)
	return all, scheme, err
}
