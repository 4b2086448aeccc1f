// Package proxy says in hints which proxy of HTTP connections go through. This is a package of
// its own because package causes, which has the other hints, would link net/http into backends
// without HTTP.
package proxy

import (
	"net/http"
	"net/url"
	"strings"
)

// Hint returns a hint about a connection that failed, with the proxy that connections to an
// address, a URL with http:// or https://, go through, if there is one.
func Hint(hint, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return hint
	}
	through, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil || through == nil {
		return hint
	}
	return strings.TrimPrefix(hint+"; ", "; ") + "connections go through the proxy " + through.Host + " of " + strings.ToUpper(u.Scheme) + "_PROXY; NO_PROXY exempts addresses"
}

// GRPC is [Hint] for gRPC, which takes the proxy of HTTPS also for an address without TLS: the
// address, without or with a scheme.
func GRPC(hint, address string) string {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		rest = address
	}
	return Hint(hint, "https://"+rest)
}
