package gcs

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcsinfo"
)

const (
	defaultPrefix = "leaderrun"
	// maxPrefix leaves room for the longest lock name, 200 bytes of which each
	// may become three, in the 1024 bytes of an object's name.
	maxPrefix = 400
)

// settings are what a URL and the environment say.
type settings struct {
	bucket      string
	prefix      string // "a/b": no slash at either end
	endpoint    string // "http://host:port" or "https://host"; "": the public service
	userProject string // who pays for requests; "": the bucket's owner
}

// anonymous reports that no credentials are sent: an emulator wants none, and
// without TLS they would be readable on the way.
func (s *settings) anonymous() bool { return strings.HasPrefix(s.endpoint, "http://") }

// parse reads a URL, and for what it leaves open the environment. All errors
// wrap locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string) (*settings, error) {
	if err := gcsinfo.Info.CheckURL(u); err != nil {
		return nil, err
	}
	switch {
	case u.User != nil:
		return nil, locks.Usagef("a gcs URL has no user; credentials come from the environment")
	case u.Port() != "":
		return nil, locks.Usagef("a gcs URL has a bucket and no port; another address of the service is given with endpoint=URL")
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

// checkBucket refuses what no bucket is called. The service knows the rest of
// the rules.
func checkBucket(name string) error {
	if name == "" {
		return locks.Usagef("no bucket is named; write gcs://bucket/prefix, or set LEADERRUN_GCS_BUCKET")
	}
	valid := func(r rune) bool {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r)
	}
	if len(name) < 3 || len(name) > 222 || strings.ContainsFunc(name, func(r rune) bool { return !valid(r) }) {
		return locks.Usagef("%q is not the name of a bucket: it has 3 to 222 characters of a-z 0-9 - _ .", locks.Abbreviate(name))
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
		return locks.Usagef("the prefix of the objects has one of # [ ] * ?, which the tools of Cloud Storage take for patterns")
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." {
			return locks.Usagef("the prefix of the objects has the part %q between slashes", part)
		}
	}
	return nil
}

// endpoint is where the service is, if not at its public address.
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
		return "", locks.Usagef("%s %q is not the address of a server, such as https://storage.example.com or http://127.0.0.1:9000", name, locks.Abbreviate(locks.RedactText(value)))
	}
	return e.Scheme + "://" + e.Host, nil
}
