package gcs

import (
	"cmp"
	"net/url"
	"strings"
	"unicode"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

const (
	defaultPrefix = "leaderrun"
	// maxPrefix, in bytes, leaves room in the 1024 bytes of an object's name for the
	// longest name of a lock: 200 bytes, each of which may become three.
	maxPrefix = 400
)

// settings are what a URL and the environment say.
type settings struct {
	bucket      string
	prefix      string // "a/b": no slash at either end
	endpoint    string // "http://host:port" or "https://host"; "": the public service
	userProject string // the project that pays for requests; "": the bucket's owner pays
}

// anonymous reports whether requests are sent without credentials: an emulator needs none,
// and without TLS they could be read on the way.
func (s *settings) anonymous() bool { return strings.HasPrefix(s.endpoint, "http://") }

// service returns the address of the service.
func (s *settings) service() string { return cmp.Or(s.endpoint, "https://storage.googleapis.com") }

// parse reads the URL, and takes what it omits from the environment. All errors
// wrap locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string) (*settings, error) {
	if err := known.GCS.CheckURL(u); err != nil {
		return nil, err
	}
	if err := known.GCS.CheckVariables(u, getenv); err != nil {
		return nil, err
	}
	switch {
	case u.User != nil:
		return nil, locks.Usagef("a gcs URL cannot have a user; credentials come from the environment")
	case u.Port() != "":
		return nil, locks.Usagef("a gcs URL has a bucket and cannot have a port; give another address of the service with endpoint=URL")
	}
	s := &settings{bucket: u.Host, prefix: strings.Trim(u.Path, "/"), userProject: u.Query().Get("userproject")}
	if s.bucket == "" {
		var rest string
		s.bucket, rest, _ = strings.Cut(strings.TrimPrefix(getenv("LEADERRUN_GCS_BUCKET"), "gs://"), "/")
		if s.prefix == "" {
			s.prefix = strings.Trim(rest, "/")
		}
	}
	if s.prefix == "" {
		s.prefix = defaultPrefix
	}
	if err := checkBucket(s.bucket); err != nil {
		return nil, err
	}
	if err := checkPrefix(s.prefix); err != nil {
		return nil, err
	}
	var err error
	s.endpoint, err = endpoint(u, getenv)
	return s, err
}

// checkBucket returns an error if no bucket can have this name. The service checks the
// rest of the rules.
func checkBucket(name string) error {
	if name == "" {
		return locks.Usagef("no bucket is named; write gcs://bucket/prefix, or set LEADERRUN_GCS_BUCKET")
	}
	valid := func(r rune) bool {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r)
	}
	if len(name) < 3 || len(name) > 222 || strings.ContainsFunc(name, func(r rune) bool { return !valid(r) }) {
		return locks.Usagef("invalid bucket name %q (want 3 to 222 characters of a-z 0-9 - _ .)", locks.Abbreviate(name))
	}
	return nil
}

func checkPrefix(p string) error {
	if len(p) > maxPrefix {
		return locks.Usagef("the prefix of the objects has %d bytes; at most %d are allowed", len(p), maxPrefix)
	}
	if strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return locks.Usagef("the prefix of the objects has a character that cannot be printed: %q", locks.Abbreviate(p))
	}
	if strings.ContainsAny(p, "#[]*?") {
		return locks.Usagef("the prefix of the objects has one of # [ ] * ?, which the tools of Cloud Storage read as patterns")
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." {
			return locks.Usagef("the prefix of the objects has %q between slashes", part)
		}
	}
	return nil
}

// endpoint returns the address of the service, or "" for its public one.
func endpoint(u *url.URL, getenv func(string) string) (string, error) {
	value, name := u.Query().Get("endpoint"), "endpoint"
	if value == "" {
		value, name = getenv("STORAGE_EMULATOR_HOST"), "STORAGE_EMULATOR_HOST"
		if value != "" && !strings.Contains(value, "://") {
			value = "http://" + value
		}
	}
	if value == "" {
		return "", nil
	}
	e, err := url.Parse(value)
	if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Hostname() == "" || e.User != nil ||
		strings.Trim(e.Path, "/") != "" || e.RawQuery != "" || e.Fragment != "" {
		return "", locks.Usagef("invalid %s %q (want the address of a server, like https://storage.example.com or http://127.0.0.1:9000)", name, locks.Abbreviate(value))
	}
	return e.Scheme + "://" + e.Host, nil
}
