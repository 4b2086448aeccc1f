package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

const (
	// defaultSchema does not depend on search_path, so that users with different ones
	// use the same table.
	defaultSchema = "public"
	// maxIdentifier is the longest name, in bytes, that the server does not truncate.
	maxIdentifier = 63
	// maxMessage is the longest answer, in bytes, that is read. Anybody may have written
	// into the table.
	maxMessage = 32 << 20
)

// settings are what a URL and the environment say.
type settings struct {
	conn     string // for the driver
	schema   string
	lock     string   // for application_name; may be ""
	hosts    []string // "host:port", for messages and for doctor
	database string
	user     string

	passfile        string // the file where psql looks for passwords
	withoutPassfile string // for the driver, if it is not to look there
}

var sslModes = []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}

// parse reads the URL. The driver takes what it omits from where psql does; getenv is for
// variables that the driver does not read. All errors wrap locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string) (*settings, error) {
	if err := checkShape(u); err != nil {
		return nil, err
	}
	if err := known.Postgres.CheckVariables(u, getenv); err != nil {
		return nil, err
	}
	q := u.Query()
	s := &settings{schema: q.Get("schema")}
	if s.schema == "" {
		s.schema = defaultSchema
	}
	if len(s.schema) > maxIdentifier || !utf8.ValidString(s.schema) || strings.ContainsRune(s.schema, 0) {
		return nil, locks.Usagef("invalid schema name %q (want at most %d bytes of UTF-8)", locks.Abbreviate(s.schema), maxIdentifier)
	}
	if mode := cmp.Or(q.Get("sslmode"), getenv("PGSSLMODE")); mode != "" && !slices.Contains(sslModes, mode) {
		return nil, locks.Unknown("sslmode", locks.Abbreviate(mode), sslModes) // the driver names neither
	}
	to := *u // its query stays as it is written: for the driver and psql, "+" is not a space
	to.RawQuery = strings.Join(slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(p string) bool { return strings.HasPrefix(p, "schema=") }), "&")
	if to.Path == "" {
		to.Path = "/" // with only a query, String would omit the two slashes
	}
	to.OmitHost = false
	s.conn = to.String()
	s.passfile = passwordFile(u)
	to.RawQuery = strings.Join(append(slices.DeleteFunc(strings.Split(to.RawQuery, "&"), func(p string) bool { return p == "" || strings.HasPrefix(p, "passfile=") }), "passfile="+url.QueryEscape(os.DevNull)), "&")
	s.withoutPassfile = to.String()
	c, err := s.config()
	if err != nil {
		return nil, locks.Usagef("postgres: %v", err)
	}
	s.user, s.database = c.User, cmp.Or(c.Database, c.User)
	if strings.Contains(s.database, "://") { // messages would show its password
		return nil, locks.Usagef("the name of the database is a URL; give it to --backend")
	}
	for _, f := range append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port}}, c.Fallbacks...) {
		if strings.Contains(f.Host, "@") && !strings.HasPrefix(f.Host, "/") {
			return nil, locks.Usagef("a host of PostgreSQL has an @; put the user into PGUSER and the password into PGPASSWORD or ~/.pgpass")
		}
		if addr := address(f.Host, f.Port); !slices.Contains(s.hosts, addr) { // a host may be tried with TLS and without
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

// addr returns where the locks are, for messages, without user and password.
func (s *settings) addr() string {
	addr := "postgres://" + strings.Join(s.hosts, ",") + "/" + s.database
	if s.schema != defaultSchema {
		addr += "?schema=" + url.QueryEscape(s.schema)
	}
	return addr
}

// config reads the driver's configuration again for each connection: a password or a
// certificate may have been replaced in its file.
func (s *settings) config() (*pgconn.Config, error) {
	c, err := pgconn.ParseConfig(s.conn)
	if err != nil {
		return nil, errors.New(locks.Printable(reason(err)))
	}
	if err := s.checkPasswordFile(c); err != nil {
		return nil, err
	}
	if err := checkKeywords(c); err != nil {
		return nil, err
	}
	c.MaxProtocolMessageBodyLen = maxMessage
	if c.RuntimeParams["application_name"] == "" {
		name := strings.TrimSpace("leaderrun " + s.lock)
		c.RuntimeParams["application_name"] = name[:min(len(name), maxIdentifier)]
	}
	return c, nil
}

// checkKeywords removes the keywords of libpq that do not matter from what the driver would
// send to the server, because it does not know them, and returns an error for any other. They
// come from a service file.
func checkKeywords(c *pgconn.Config) error {
	for _, name := range slices.Sorted(maps.Keys(c.RuntimeParams)) {
		variable := "PG" + strings.ToUpper(strings.ReplaceAll(name, "_", ""))
		i := slices.IndexFunc(known.Postgres.Refused, func(r backend.Refused) bool { return r.Name == variable })
		switch {
		case slices.Contains([]string{"application_name", "options", "timezone"}, name):
			continue
		case slices.Contains(idleKeywords(), name), i >= 0 && slices.Contains(known.Postgres.Refused[i].Except, c.RuntimeParams[name]):
			delete(c.RuntimeParams, name)
		case i >= 0:
			return fmt.Errorf("the service has %s, which the backend postgres does not support: remove it, and %s", name, known.Postgres.Refused[i].Instead)
		default:
			return fmt.Errorf("the service has %s, which the backend postgres does not support: remove it", locks.Abbreviate(name))
		}
	}
	if home, _ := os.UserHomeDir(); c.TLSConfig != nil {
		file := filepath.Join(home, ".postgresql", "root.crl")
		if _, err := os.Stat(file); err == nil {
			return fmt.Errorf("the backend postgres does not support the list of revoked certificates in %s: move it away, and %s", file, known.PostgresInsteadOfCRL)
		}
	}
	return nil
}

// idleKeywords are keywords of libpq on which neither the server, nor the user, nor TLS depend.
func idleKeywords() []string {
	return []string{
		"client_encoding", "fallback_application_name", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count",
		"tcp_user_timeout", "load_balance_hosts", "sslcompression", "sslkeylogfile", "gsslib", "gssdelegation",
	}
}

// sent returns the password, which may be in ~/.pgpass.
func (s *settings) sent() []string {
	c, err := s.config()
	if err != nil {
		return nil
	}
	return []string{c.Password}
}

// reason returns the driver's text without the URL, which may have a password.
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
		return locks.Usagef("a password cannot be after the ?; put it into PGPASSWORD or ~/.pgpass, and a key's into PGSSLPASSWORD")
	}
	if err := known.Postgres.CheckURL(u); err != nil {
		return err
	}
	switch want := q.Get("target_session_attrs"); want {
	case "", "any", "read-write", "primary":
		return nil
	default:
		return locks.Usagef("target_session_attrs=%q: locks need a server that accepts writes, so it is always read-write", locks.Abbreviate(want))
	}
}
