package mysql

import (
	"cmp"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/kit/reload"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// maxIdentifier is the longest name of a database, in characters.
const maxIdentifier = 64

// settings are what a URL, an option file and the environment say.
type settings struct {
	hosts    []string // "host:port", or the path of a socket
	database string
	user     string
	lock     string // for program_name; may be ""

	password string                 // of the URL
	options  *reload.Value[options] // has the password, too; nil: there is no such file
	variable string                 // the password in the environment

	tls      *tlsfiles.Source // nil: TLS is not spoken
	fallback bool             // without TLS, if the server does not speak it

	serverKey string // the driver's name for the key that a server without TLS has; "": the one that it gives
}

// parse reads a URL. What it omits comes from the option files, of which global are those for
// all users, and what they omit from the environment, as with the program mysql. All errors
// wrap locks.ErrUsage.
func parse(u *url.URL, getenv func(string) string, global ...string) (*settings, error) {
	if err := known.MySQL.CheckURL(u); err != nil {
		return nil, err
	}
	if err := checkLogins(u, getenv); err != nil {
		return nil, err
	}
	s := &settings{variable: getenv("MYSQL_PWD")}
	s.password, _ = u.User.Password()
	var err error
	if s.options, err = openOptions(u.Query().Get("defaults-file"), getenv, global); err != nil {
		return nil, err
	}
	o := s.options.Now(nil)
	s.user = cmp.Or(u.User.Username(), o["user"])
	if s.user == "" {
		if me, err := user.Current(); err == nil {
			s.user = me.Username
		}
	}
	s.database = cmp.Or(strings.TrimPrefix(u.Path, "/"), o["database"], getenv("LEADERRUN_MYSQL_DATABASE"))
	switch {
	case s.database == "":
		return nil, locks.Usagef("no database is named: write %s, or set LEADERRUN_MYSQL_DATABASE", known.MySQL.URL)
	case utf8.RuneCountInString(s.database) > maxIdentifier || !utf8.ValidString(s.database) || strings.ContainsAny(s.database, "\x00/"):
		return nil, locks.Usagef("invalid database name %q (want at most %d characters, and no slash)", locks.Abbreviate(s.database), maxIdentifier)
	}
	if s.hosts, err = addresses(u, o, getenv); err != nil {
		return nil, err
	}
	if err = s.setServerKey(o); err != nil {
		return nil, err
	}
	return s, s.encrypt(u, o)
}

// checkLogins returns an error if MySQL's programs would take the server or the user from the
// file that mysql_config_editor writes, which is encrypted. Those of MariaDB never do.
func checkLogins(u *url.URL, getenv func(string) string) error {
	file := getenv("MYSQL_TEST_LOGIN_FILE")
	if home := getenv("HOME"); file == "" && home != "" {
		file = filepath.Join(home, ".mylogin.cnf")
	}
	if q := u.Query(); q.Has("defaults-file") || (u.Host != "" || q.Has("socket")) && u.User.Username() != "" {
		return nil
	}
	if _, err := os.Stat(file); err != nil {
		return nil
	}
	return locks.Usagef("the backend mysql does not read %s: give the host and the user in the URL, or in a file that defaults-file names", file)
}

// addresses returns where the servers are. As with the program mysql, a socket is used if no
// host is named, or "localhost" by something else than the URL.
func addresses(u *url.URL, o options, getenv func(string) string) ([]string, error) {
	if strings.HasPrefix(u.Host, "/") {
		return []string{u.Host}, nil
	}
	q, protocol := u.Query(), strings.ToUpper(o["protocol"])
	socket := cmp.Or(q.Get("socket"), o["socket"], getenv("MYSQL_UNIX_PORT"), getenv("MARIADB_UNIX_PORT"))
	list, from := cmp.Or(o["host"], getenv("MYSQL_HOST")), "the host of the option file or MYSQL_HOST"
	local := list == "" || list == "localhost"
	port := cmp.Or(o["port"], getenv("MYSQL_TCP_PORT"), known.MySQL.Port)
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return nil, locks.Usagef("the option file or MYSQL_TCP_PORT: invalid port %q", locks.Abbreviate(port))
	}
	switch {
	case u.Host != "" && q.Has("socket"):
		return nil, locks.Usagef("mysql URL: it has a host and a socket")
	case u.Host != "":
		list, from = u.Host, "the mysql URL"
	case q.Has("socket"), socket != "" && local && (protocol == "" || protocol == "SOCKET"):
		return []string{socket}, nil
	case protocol != "" && protocol != "TCP":
		return nil, locks.Usagef("the option file: protocol %q, but there is no socket for the host: use protocol=TCP, or give socket and no host", locks.Abbreviate(protocol))
	}
	return hosts.Parse(list, from, port)
}

// encrypt reads how to speak TLS. The server is verified if a setting says so, or names what
// to verify it with. If no setting is about TLS, it is spoken if the server offers it.
func (s *settings) encrypt(u *url.URL, o options) error {
	t, err := tlsfiles.Parse(u, func(name string) string { return o[tlsOptions[name]] }, "")
	if err != nil {
		return err
	}
	on := t.On()
	switch mode := strings.ToUpper(o["ssl-mode"]); mode {
	case "", "PREFERRED":
		if isOff(o["ssl"]) && !on && !isOn(o["ssl-verify-server-cert"]) { // of MariaDB
			return nil
		}
		s.fallback = !on
	case "DISABLED":
	case "REQUIRED":
		t.Insecure = !on
		on = true
	case "VERIFY_CA", "VERIFY_IDENTITY":
		on = true
	default:
		return locks.Usagef("the option file: unknown ssl-mode %q", locks.Abbreviate(mode))
	}
	switch {
	case t.Explicit == "false" || o["ssl-mode"] != "" && !on && !s.fallback:
		s.fallback = false
		return nil
	case isOn(o["ssl-verify-server-cert"]):
		s.fallback = false
	case isOn(o["ssl"]) && !on:
		s.fallback, t.Insecure = false, true
	case s.fallback:
		t.Insecure = true
	}
	s.tls, err = t.Open()
	return err
}

// tlsOptions are the names in the option file of the settings of package tlsfiles.
var tlsOptions = map[string]string{"CACERT": "ssl-ca", "CERT": "ssl-cert", "KEY": "ssl-key"}

func isOn(option string) bool {
	return option == "1" || strings.EqualFold(option, "on") || strings.EqualFold(option, "true")
}

func isOff(option string) bool {
	return option == "0" || strings.EqualFold(option, "off") || strings.EqualFold(option, "false")
}

// secret returns the password, which may have been replaced in the option file.
func (s *settings) secret() string {
	return cmp.Or(s.password, s.options.Now(nil)["password"], s.variable)
}

// addr returns where the locks are, for messages, without user and password.
func (s *settings) addr() string {
	return "mysql://" + strings.Join(s.hosts, ",") + "/" + s.database
}
