package locks

import (
	"net/url"
	"strings"
)

// Redact returns a URL as a text that is safe to show and log, with the password replaced
// by "xxxxx".
func Redact(u *url.URL) string {
	if u.Opaque != "" || u.OmitHost { // as in user:password@host, which is malformed
		return RedactText(u.String())
	}
	return redactQuery(u.Redacted())
}

// redactQuery redacts parameters whose names end in "password", as PostgreSQL has them.
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

// RedactText is like Redact for a text that may not be a URL: it replaces whatever is
// between a ":" and the last "@" of the authority by "xxxxx". The end of the authority is
// ambiguous if a "/", "?" or "#" precedes an "@": then RedactText assumes that these
// belong to a password that should have been escaped.
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
