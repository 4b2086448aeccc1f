package spanner

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// settings are what a URL and the environment say.
type settings struct {
	project, instance, database string

	table    string // in SQL, but for quotes: "leaderrun_locks" or "schema.leaderrun_locks"
	endpoint string // "http://host:port" or "https://host:port"; "": the public service
}

// The service checks the rest of the rules for names. No name that passes needs an escape
// in a path or in SQL. A project may have a domain: "example.com:project".
var (
	validName  = regexp.MustCompile(`^[a-z][a-z0-9_.:-]*$`)
	validTable = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_]{0,127}\.)?[A-Za-z][A-Za-z0-9_]{0,127}$`)
)

// parse reads the URL, and takes what it omits from the environment. All errors wrap
// locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string) (*settings, error) {
	if err := known.Spanner.CheckURL(u); err != nil {
		return nil, err
	}
	if err := known.Spanner.CheckVariables(u, getenv); err != nil {
		return nil, err
	}
	switch {
	case u.User != nil:
		return nil, locks.Usagef("a spanner URL cannot have a user; credentials come from the environment")
	case u.Port() != "":
		return nil, locks.Usagef("a spanner URL has a project and cannot have a port; give another address of the service with endpoint=URL")
	}
	s := &settings{table: u.Query().Get("table")}
	if s.table == "" {
		s.table = known.SpannerTable
	}
	if !validTable.MatchString(s.table) {
		return nil, locks.Usagef("invalid table name %q (want letters, digits and _, and a schema with a dot before it if it has one)", locks.Abbreviate(s.table))
	}
	if err := s.setDatabase(u, getenv); err != nil {
		return nil, err
	}
	var err error
	s.endpoint, err = endpoint(u, getenv)
	return s, err
}

func (s *settings) setDatabase(u *url.URL, getenv func(string) string) error {
	path := u.Host + u.Path
	if path == "" {
		path = getenv("LEADERRUN_SPANNER_DATABASE")
	}
	if path == "" {
		return locks.Usagef("no database is named; write spanner://PROJECT/INSTANCE/DATABASE, or set LEADERRUN_SPANNER_DATABASE")
	}
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	if len(parts) == 6 && parts[0] == "projects" && parts[2] == "instances" && parts[4] == "databases" {
		parts = []string{parts[1], parts[3], parts[5]}
	}
	if len(parts) != 3 {
		return locks.Usagef("%q is not PROJECT/INSTANCE/DATABASE", locks.Abbreviate(path))
	}
	for _, name := range parts {
		if len(name) > 100 || !validName.MatchString(name) {
			return locks.Usagef("invalid name %q of a project, an instance or a database", locks.Abbreviate(name))
		}
	}
	s.project, s.instance, s.database = parts[0], parts[1], parts[2]
	return nil
}

// path returns the database's full name.
func (s *settings) path() string {
	return "projects/" + s.project + "/instances/" + s.instance + "/databases/" + s.database
}

// addr returns the database for messages.
func (s *settings) addr() string {
	return "spanner://" + s.project + "/" + s.instance + "/" + s.database
}

// anonymous reports whether requests are sent without credentials: an emulator needs none,
// and without TLS they could be read on the way.
func (s *settings) anonymous() bool { return strings.HasPrefix(s.endpoint, "http://") }

// service returns the address of the service.
func (s *settings) service() string { return cmp.Or(s.endpoint, "https://spanner.googleapis.com:443") }

// endpoint returns the address of the service, or "" for its public one.
func endpoint(u *url.URL, getenv func(string) string) (string, error) {
	value, name := u.Query().Get("endpoint"), "endpoint"
	if value == "" {
		value, name = getenv("SPANNER_EMULATOR_HOST"), "SPANNER_EMULATOR_HOST"
		if value != "" && !strings.Contains(value, "://") {
			value = "http://" + value
		}
	}
	if value == "" {
		return "", nil
	}
	e, err := url.Parse(value)
	if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Hostname() == "" || e.Port() == "" || e.User != nil ||
		strings.Trim(e.Path, "/") != "" || e.RawQuery != "" || e.Fragment != "" {
		return "", locks.Usagef("invalid %s %q (want the address of a server, like https://spanner.example.com:443 or http://127.0.0.1:9010)", name, locks.Abbreviate(value))
	}
	return e.Scheme + "://" + e.Host, nil
}
