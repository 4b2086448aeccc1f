package postgres

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/postgres/postgresinfo"
)

const (
	// defaultSchema is no matter of search_path: users who have different ones are to
	// meet in the same table.
	defaultSchema = "public"
	// maxIdentifier is the most bytes of a name that the server tells apart.
	maxIdentifier = 63
	// maxMessage bounds an answer, whatever somebody has put into the table.
	maxMessage = 32 << 20
)

// settings are what a URL and the environment say.
type settings struct {
	conn     string // as the driver takes it
	schema   string
	hosts    []string // "host:port", for messages and for doctor
	database string
	user     string
}

// parse reads a URL. What it leaves open the driver takes from where psql does. All
// errors wrap locks.ErrUsage.
func parse(u *url.URL) (*settings, error) {
	if err := checkShape(u); err != nil {
		return nil, err
	}
	// The driver does not know these: to go on without them would be to ask another server
	// than psql does, or to trust one that psql does not.
	for _, name := range []string{"PGHOSTADDR", "PGREQUIREPEER", "PGSSLCRL", "PGSSLCRLDIR"} {
		if os.Getenv(name) != "" {
			return nil, locks.Usagef("the backend postgres does not know %s, which is set: unset it", name)
		}
	}
	q := u.Query()
	s := &settings{schema: q.Get("schema")}
	if s.schema == "" {
		s.schema = defaultSchema
	}
	if len(s.schema) > maxIdentifier || !utf8.ValidString(s.schema) || strings.ContainsRune(s.schema, 0) {
		return nil, locks.Usagef("the schema %q is not the name of one: it has at most %d bytes", locks.Abbreviate(s.schema), maxIdentifier)
	}
	to := *u // its query stays as it is written: to the driver, as to psql, "+" is no space
	to.RawQuery = strings.Join(slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(p string) bool { return strings.HasPrefix(p, "schema=") }), "&")
	if to.Path == "" {
		to.Path = "/" // with nothing but a query the two slashes would be left out
	}
	to.OmitHost = false
	s.conn = to.String()
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	s.user, s.database = c.User, cmp.Or(c.Database, c.User)
	for _, f := range append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port}}, c.Fallbacks...) {
		if addr := address(f.Host, f.Port); !slices.Contains(s.hosts, addr) { // one may be tried with TLS, and without
			s.hosts = append(s.hosts, addr)
		}
	}
	return s, nil
}

func address(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// addr is where the locks are, for messages. It has no user and no password.
func (s *settings) addr() string {
	return "postgres://" + strings.Join(s.hosts, ",") + "/" + s.database
}

// config is read anew for each connection: a password or a certificate may have been
// replaced in its file since.
func (s *settings) config() (*pgconn.Config, error) {
	c, err := pgconn.ParseConfig(s.conn)
	if err != nil {
		return nil, locks.Usagef("postgres: %s", locks.Printable(reason(err)))
	}
	c.MaxProtocolMessageBodyLen = maxMessage
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "leaderrun"
	}
	return c, nil
}

// reason is what the driver says without the URL, which may have a password.
func reason(err error) string {
	text := err.Error()
	if _, after, ok := strings.Cut(text, "`: "); ok {
		text = after
	}
	if inner := errors.Unwrap(err); inner != nil {
		text = inner.Error()
	}
	return text
}

func checkShape(u *url.URL) error {
	q := u.Query()
	if q.Has("password") || q.Has("sslpassword") {
		return locks.Usagef("a password does not go after the ?; put it into PGPASSWORD or ~/.pgpass, and that of a key into PGSSLPASSWORD")
	}
	if err := postgresinfo.Info.CheckURL(u); err != nil {
		return err
	}
	switch want := q.Get("target_session_attrs"); want {
	case "", "any", "read-write", "primary":
		return nil
	default:
		return locks.Usagef("target_session_attrs=%q: only a server that can be written to keeps locks, so it is always read-write", locks.Abbreviate(want))
	}
}
