package known

import (
	"net/url"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// Redact returns the URL of a backend as a text that is safe to show and log: without the
// password, and without the values of parameters that are not described. No described
// parameter has a secret. Of a backend that is not ours we know no parameter.
func Redact(u *url.URL) string {
	return locks.RedactParams(u, func(param string) bool { return unknown(u.Scheme, param) })
}

// RedactText is like Redact for what a user has given as a backend, which may be no URL.
func RedactText(s string) string { return locks.RedactBackend(s, unknown) }

func unknown(scheme, param string) bool {
	b := Find(scheme)
	return b == nil || !slices.ContainsFunc(b.Params, func(p backend.Param) bool { return p.Name == param })
}
