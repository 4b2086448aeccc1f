package locks

import (
	"net/url"
	"slices"
	"strings"
)

// Redact returns a URL as a text that is safe to show and log, with the password replaced
// by "xxxxx", and also the values of parameters whose names suggest a secret. For the URL of
// a backend, package known has a function that knows more.
func Redact(u *url.URL) string { return RedactParams(u, suggestsSecret) }

// RedactParams is like Redact for a caller that knows which parameters to hide.
func RedactParams(u *url.URL, hide func(param string) bool) string {
	if u.Opaque != "" || u.OmitHost { // as in user:password@host, which is malformed
		return redactText(u.String(), hide)
	}
	return redactQuery(u.Redacted(), hide)
}

// suggestsSecret reports whether the name of a parameter suggests that its value is a
// secret, and not the name of a file with one.
func suggestsSecret(param string) bool {
	param = strings.ToLower(param)
	return !strings.HasSuffix(param, "file") && slices.ContainsFunc(secretWords[:], func(word string) bool { return strings.Contains(param, word) })
}

var secretWords = [...]string{"pass", "pwd", "token", "secret", "sig", "auth", "cred", "sas"}

// redactQuery redacts the values of parameters.
func redactQuery(s string, hide func(param string) bool) string {
	head, query, ok := strings.Cut(s, "?")
	if !ok {
		return s
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); value != "" && (err != nil || hide(plain)) {
			pairs[i] = name + "=xxxxx"
		}
	}
	return head + "?" + strings.Join(pairs, "&")
}

// RedactBackend is like RedactText for what a user has given as a backend. A connection
// string of another program (NAME=VALUE;NAME=VALUE, or "NAME=VALUE NAME=VALUE") is hidden
// altogether, because any of its values may be a secret.
func RedactBackend(s string, hide func(scheme, param string) bool) string {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || !isScheme(strings.ToLower(scheme)) {
		scheme, rest = "", s
	}
	place, _, _ := strings.Cut(rest, "?")
	switch {
	case strings.HasPrefix(place, "//") && scheme != "", !strings.ContainsAny(place, "=;"):
		return redactText(s, func(param string) bool { return hide(scheme, param) })
	case scheme != "":
		return scheme + ":xxxxx"
	default:
		return "xxxxx"
	}
}

// RedactText is like Redact for a text that may not be a URL: it replaces whatever is
// between a ":" and the last "@" of the authority by "xxxxx". The end of the authority is
// ambiguous if a "/", "?" or "#" precedes an "@": then RedactText assumes that these
// belong to a password that should have been escaped.
func RedactText(s string) string { return redactText(s, suggestsSecret) }

func redactText(s string, hide func(param string) bool) string {
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
		return redactQuery(s, hide)
	}
	user, _, hasPassword := strings.Cut(s[start:start+at], ":")
	if !hasPassword {
		return redactQuery(s, hide)
	}
	return s[:start] + user + ":xxxxx" + redactQuery(s[start+at:], hide)
}
