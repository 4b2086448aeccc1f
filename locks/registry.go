package locks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// An Opener makes a Lock from a backend's URL. It checks everything that can be checked
// without a server, and returns ErrUsage for mistakes. It need not contact the server; if
// it does, ctx bounds that. Its errors are final: a campaign repeats only Acquire. For a
// URL with only a scheme ("etcd:"), an Opener takes the settings from the environment
// variables that the backend's own tools use.
type Opener func(ctx context.Context, u *url.URL, o Options) (Lock, error)

// A Registry finds backends by their scheme. The zero Registry is empty.
type Registry struct {
	// Fallback, if not nil, opens URLs whose scheme is not registered.
	Fallback Opener

	openers map[string]Opener
}

// Register adds a backend. It panics if the scheme is taken.
func (r *Registry) Register(scheme string, open Opener) {
	if r.openers == nil {
		r.openers = map[string]Opener{}
	}
	if _, taken := r.openers[scheme]; taken {
		panic("locks: backend " + scheme + " registered twice")
	}
	r.openers[scheme] = open
}

// Open makes a Lock of the backend that u names, as returned by [Parse]. The name may be
// one that [SlotName] made.
func (r *Registry) Open(ctx context.Context, u *url.URL, o Options) (Lock, error) {
	if err := CheckSlotName(o.Name); err != nil {
		return nil, err
	}
	if open, ok := r.openers[u.Scheme]; ok {
		return open(ctx, u, o)
	}
	if r.Fallback != nil {
		return r.Fallback(ctx, u, o)
	}
	return nil, Unknown("backend", u.Scheme, r.Schemes())
}

// Schemes returns the registered schemes, sorted.
func (r *Registry) Schemes() []string { return slices.Sorted(maps.Keys(r.openers)) }

// Parse reads a backend as a user writes it: a URL, or a bare name, which is the same as
// a URL with only that scheme. Errors wrap ErrUsage and never show a password.
func Parse(backend string) (*url.URL, error) {
	if isScheme(backend) {
		return &url.URL{Scheme: canonical(backend)}, nil
	}
	// Nobody has yet checked which parameters there are.
	shown := strconv.Quote(Abbreviate(RedactBackend(backend, func(string, string) bool { return true })))
	scheme, _, ok := strings.Cut(backend, ":")
	if !ok || !isScheme(scheme) {
		return nil, &UsageError{What: "backend " + shown + " is invalid (want a name like etcd or a URL like etcd://host:2379/prefix)"}
	}
	u, err := ParseURL(backend)
	if err != nil {
		return nil, &UsageError{What: "backend URL " + shown + ": " + syntaxError(err, backend)}
	}
	if straySecret(u) {
		return nil, &UsageError{What: "backend URL " + shown + ": there is an @ after the host; " + escaping}
	}
	u.Scheme = canonical(scheme)
	return u, nil
}

// canonical returns the scheme of a backend for another by which its users know it.
func canonical(scheme string) string {
	switch scheme {
	case "postgresql":
		return "postgres"
	case "mariadb":
		return "mysql"
	}
	return scheme
}

// ParseURL is [url.Parse] for the URL of a backend, which may have what that refuses: several
// hosts with addresses of IPv6, or the path of a socket, escaped, as a host.
func ParseURL(backend string) (*url.URL, error) {
	u, err := url.Parse(backend)
	scheme, rest, ok := strings.Cut(backend, "://")
	if err == nil || !ok {
		return u, err
	}
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	start := strings.LastIndex(rest[:end], "@") + 1
	host, bad := url.PathUnescape(rest[start:end])
	if several := strings.Contains(host, "[") && strings.Contains(host, ","); bad != nil || strings.Contains(host, "@") || !several && !strings.HasPrefix(host, "/") {
		return nil, err
	}
	if u, err = url.Parse(scheme + "://" + rest[:start] + "host" + rest[end:]); err == nil {
		u.Host = host
	}
	return u, err
}

// straySecret reports whether a URL may have a part of a password in a place that is
// shown: etcd://root:12/34@host has the port 12 and the path /34@host. A query may
// contain an @, because file names may.
func straySecret(u *url.URL) bool {
	path := (u.User != nil || strings.Contains(u.Host, ":")) && strings.Contains(u.EscapedPath(), "@")
	return path || strings.Contains(u.EscapedFragment(), "@")
}

const escaping = "in a password write / as %2F, elsewhere @ as %40"

// syntaxError describes what is wrong with a URL, without any part of a password. The
// errors of net/url quote the part that they object to.
func syntaxError(err error, backend string) string {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	text := strings.TrimPrefix(err.Error(), "net/url: ")
	_, rest, _ := strings.Cut(backend, "://")
	if i := strings.LastIndex(rest, "@"); i < 0 || !strings.Contains(rest[:i], ":") {
		return text
	}
	return unquoted(text) + "; " + escaping
}

// unquoted removes what a text quotes.
func unquoted(text string) string {
	i, j := strings.Index(text, `"`), strings.LastIndex(text, `"`)
	if i < 0 {
		return text
	}
	return strings.Join(strings.Fields(text[:i]+text[j+1:]), " ")
}

func isScheme(s string) bool {
	for i, r := range s {
		letter := 'a' <= r && r <= 'z'
		if !letter && (i == 0 || !('0' <= r && r <= '9' || strings.ContainsRune("+-.", r))) {
			return false
		}
	}
	return s != ""
}

// CheckParams returns an ErrUsage for the first parameter of u's query that is malformed,
// given twice, or unknown.
func CheckParams(u *url.URL, known ...string) error {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return &UsageError{What: u.Scheme + " URL: the part after ? is malformed: " + unquoted(err.Error())}
	}
	for _, key := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(known, key) {
			return Unknown(u.Scheme+" parameter", key, known)
		}
		if len(q[key]) > 1 {
			return &UsageError{What: fmt.Sprintf("%s parameter %q is given twice", u.Scheme, key)}
		}
	}
	return nil
}

// Setting returns a parameter of a URL or, if that is empty, a variable, and the name of
// the one that it returned, for messages.
func Setting(u *url.URL, getenv func(string) string, param, variable string) (value, name string) {
	if v := u.Query().Get(param); v != "" {
		return v, param
	}
	return getenv(variable), variable
}

// Boolean returns the value of a variable that is true or false, or otherwise if it is
// empty. Its error is an ErrUsage.
func Boolean(getenv func(string) string, variable string, otherwise bool) (bool, error) {
	v := getenv(variable)
	if v == "" {
		return otherwise, nil
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, Usagef("invalid value %s=%q (want true or false)", variable, Abbreviate(v))
	}
	return b, nil
}
