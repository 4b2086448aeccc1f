package consul

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/kit/reload"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

const defaultPrefix = "leaderrun"

// settings are what the URL and the environment say.
type settings struct {
	addr   string           // "host:port", or the path of a socket
	base   string           // the path before "/v1", for an agent behind a proxy
	socket bool             // addr is the path of a socket
	tls    *tlsfiles.Source // nil: TLS is not spoken

	prefix string // of the keys, without a slash at the end
	compat bool   // the keys are those of `consul lock`

	token     string                // an ACL token; "": the agent's default
	tokenFile *reload.Value[string] // nil: there is no file
	auth      *url.Userinfo         // of HTTP; nil: none

	query url.Values // of each request: datacenter, namespace and partition
}

// parse reads a URL, and takes what it leaves open from the variables of the program
// consul. All errors wrap locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string) (*settings, error) {
	if err := known.Consul.CheckURL(u); err != nil {
		return nil, err
	}
	if u.User != nil {
		return nil, locks.Usagef("a consul URL has no user or token: give the token in CONSUL_HTTP_TOKEN or with token-file=")
	}
	if getenv("CONSUL_CAPATH") != "" {
		return nil, locks.Usagef("the backend consul does not support CONSUL_CAPATH: unset it, and give one file in CONSUL_CACERT")
	}
	s := &settings{token: getenv("CONSUL_HTTP_TOKEN")}
	secure, err := s.address(u, getenv)
	if err != nil {
		return nil, err
	}
	if s.tls, err = newTLS(u, getenv, secure); err != nil {
		return nil, err
	}
	if err := s.keys(u); err != nil {
		return nil, err
	}
	if err := s.credentials(u, getenv); err != nil {
		return nil, err
	}
	s.query = url.Values{}
	for param, from := range map[string]string{"ns": "namespace", "partition": "partition", "dc": "dc"} {
		value := u.Query().Get(from)
		if from != "dc" {
			value = cmp.Or(value, getenv("CONSUL_"+strings.ToUpper(from)))
		}
		if value != "" {
			s.query.Set(param, value)
		}
	}
	return s, nil
}

// address reads where the agent is, and whether that says to speak TLS.
func (s *settings) address(u *url.URL, getenv func(string) string) (secure bool, err error) {
	list, from := u.Host, "the consul URL"
	if list == "" {
		list, from = getenv("CONSUL_HTTP_ADDR"), "CONSUL_HTTP_ADDR"
	}
	scheme, rest, found := strings.Cut(list, "://")
	if !found {
		scheme, rest = "", list
	}
	switch scheme {
	case "", "http", "https":
	case "unix":
		s.socket, s.addr = true, rest
		return false, nil
	default:
		return false, locks.Usagef("%s: %q is neither host:port nor http:// nor https:// nor unix://", from, locks.Abbreviate(list))
	}
	rest, s.base, _ = strings.Cut(rest, "/")
	if s.base = strings.Trim(s.base, "/"); s.base != "" {
		s.base = "/" + s.base
	}
	secure, err = locks.Boolean(getenv, "CONSUL_HTTP_SSL", false)
	if err != nil {
		return false, err
	}
	secure = secure || scheme == "https"
	port := known.Consul.Port
	switch {
	case u.Host != "" || list == "":
	case secure: // in the variable, no port means what it means to the program consul
		port = "443"
	default:
		port = "80"
	}
	all, err := hosts.Parse(rest, from, port)
	if err != nil {
		return false, err
	}
	if len(all) > 1 {
		return false, locks.Usagef("%s: a session belongs to one agent, so only one address can be given", from)
	}
	s.addr = all[0]
	return secure, nil
}

// newTLS returns nil if TLS is not used. A parameter of the URL that names a file turns it
// on; a variable does not, as with the program consul.
func newTLS(u *url.URL, getenv func(string) string, secure bool) (*tlsfiles.Source, error) {
	s, err := tlsfiles.Parse(u, func(name string) string { return getenv(variable(name)) }, files)
	if err != nil {
		return nil, err
	}
	for _, param := range []string{"cacert", "cert", "servername"} {
		secure = secure || u.Query().Get(param) != ""
	}
	s.ServerName = cmp.Or(s.ServerName, getenv("CONSUL_TLS_SERVER_NAME"))
	verify, err := locks.Boolean(getenv, "CONSUL_HTTP_SSL_VERIFY", true)
	if s.Insecure = !verify; err != nil {
		return nil, err
	}
	if s.Explicit == "false" || s.Explicit == "" && !secure {
		return nil, nil
	}
	return s.Open()
}

// files is how the variables begin that name the files of TLS.
const files = "CONSUL_"

// variable returns the name that Consul has for a variable of package tlsfiles.
func variable(name string) string {
	switch name {
	case files + "CERT", files + "KEY":
		return files + "CLIENT_" + strings.TrimPrefix(name, files)
	}
	return name
}

// keys reads the prefix of the keys.
func (s *settings) keys(u *url.URL) error {
	switch compat := u.Query().Get("compat"); compat {
	case "":
	case "consul-lock":
		s.compat = true
	default:
		return locks.Usagef("consul parameter compat=%q is not consul-lock", locks.Abbreviate(compat))
	}
	s.prefix = strings.Trim(u.Path, "/")
	if s.prefix == "" {
		if !s.compat { // there the user says what to exclude
			s.prefix = defaultPrefix
		}
		return nil
	}
	for part := range strings.SplitSeq(s.prefix, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsFunc(part, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
			return locks.Usagef("the prefix of the consul keys has the part %q: %q", locks.Abbreviate(part), locks.Abbreviate(s.prefix))
		}
	}
	return nil
}

func (s *settings) credentials(u *url.URL, getenv func(string) string) (err error) {
	file, from := locks.Setting(u, getenv, "token-file", "CONSUL_HTTP_TOKEN_FILE")
	s.tokenFile, err = reload.OpenSecret(from, func(contents [][]byte) (string, error) {
		return strings.TrimSpace(string(contents[0])), nil
	}, file)
	if err != nil {
		return locks.Usagef("%v", err)
	}
	if auth := getenv("CONSUL_HTTP_AUTH"); auth != "" {
		user, password, _ := strings.Cut(auth, ":")
		s.auth = url.UserPassword(user, password)
	}
	return nil
}

// key returns the key of a lock.
func (s *settings) key(name string) string {
	if s.compat {
		return s.under(name) + lockSuffix
	}
	return s.under(name)
}

// under returns the key under the prefix that belongs to a name. To `consul lock`, a "/" in
// a name is one in the key.
func (s *settings) under(name string) string {
	if s.compat {
		return s.folder() + name
	}
	return s.folder() + escape(name)
}

// name returns the name to which a key under the prefix belongs, or "" if there is none.
func (s *settings) name(key string) string {
	text, record := strings.CutSuffix(strings.TrimPrefix(key, s.folder()), recordSuffix)
	check := locks.CheckName // there are no slots
	switch {
	case !s.compat:
		text, check = unescape(text), locks.CheckSlotName
	case !record:
		text = strings.TrimSuffix(text, lockSuffix)
	}
	if check(text) != nil || key != s.key(text) && key != s.under(text)+recordSuffix {
		return ""
	}
	return text
}

// flags are those of the lock's key. Without them a key that nobody has locked is not ours.
func (s *settings) flags() uint64 {
	if s.compat {
		return consulLockFlags
	}
	return ourFlags
}

// folder is how the keys of all locks begin.
func (s *settings) folder() string {
	if s.prefix == "" {
		return ""
	}
	return s.prefix + "/"
}

// What follows a lock's name in a key. No escaped name has a "=r" or a "=a" in it.
const (
	recordSuffix = "=record"
	askSuffix    = "=ask"
	lockSuffix   = "/.lock" // of `consul lock`
)

const (
	consulLockFlags = 0x2ddccbc058a50c18 // by which `consul lock` knows its keys
	ourFlags        = 0x6c65616465727275 // "leaderru"
)

// escape writes a name so that Consul 1.21.5 takes it, which refuses keys with ":", "@", "%",
// "#" or "..". What is escaped is "=" and two hexadecimal digits; no name has a "=".
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case strings.IndexByte("/:@#", c) >= 0, c == '.' && i > 0 && name[i-1] == '.':
			fmt.Fprintf(&b, "=%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescape undoes what escape does. Of other texts it makes one whose escape is different.
func unescape(text string) string {
	name, err := url.PathUnescape(strings.NewReplacer("%", "=", "=", "%").Replace(text))
	if err != nil {
		return ""
	}
	return name
}
