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
	return u.Redacted()
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
		return s
	}
	user, _, hasPassword := strings.Cut(s[start:start+at], ":")
	if !hasPassword {
		return s
	}
	return s[:start] + user + ":xxxxx" + s[start+at:]
}
