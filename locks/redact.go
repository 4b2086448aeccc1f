package locks

import (
	"net/url"
	"strings"
)

// Redact returns a URL as text that may be shown and logged: its password is
// replaced by "xxxxx".
func Redact(u *url.URL) string {
	if u.Opaque != "" || u.OmitHost { // as in user:password@host, which is malformed
		return RedactText(u.String())
	}
	return redactQuery(u.Redacted())
}

// redactQuery does so with parameters whose names end in "password", as PostgreSQL has them.
func redactQuery(s string) string {
	head, query, ok := strings.Cut(s, "?")
	if !ok {
		return s
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); value != "" && (err != nil || strings.HasSuffix(strings.ToLower(plain), "password")) {
			pairs[i] = name + "=xxxxx"
		}
	}
	return head + "?" + strings.Join(pairs, "&")
}

// RedactText does the same for a text that may or may not be a URL: whatever
// stands between a ":" and the last "@" of the authority becomes "xxxxx". Where
// the authority ends is in doubt if there is a "/", "?" or "#" before an "@":
// then that belongs to a password which should have been escaped.
func RedactText(s string) string {
	start := 0
	if scheme, _, ok := strings.Cut(s, "://"); ok && isScheme(strings.ToLower(scheme)) {
		start = len(scheme) + len("://")
	}
	end := len(s)
	if i := strings.IndexAny(s[start:], "/?#"); i >= 0 && strings.LastIndex(s[start:], "@") < i {
		end = start + i
	}
	at := strings.LastIndex(s[start:end], "@")
	if at < 0 {
		return redactQuery(s)
	}
	user, _, hasPassword := strings.Cut(s[start:start+at], ":")
	if !hasPassword {
		return redactQuery(s)
	}
	return s[:start] + user + ":xxxxx" + redactQuery(s[start+at:])
}
