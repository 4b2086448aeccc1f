package mysql

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

// settingsOf parses an address with some variables.
func settingsOf(address string, env map[string]string) (*settings, error) {
	u, err := locks.Parse(address)
	if err != nil {
		return nil, err
	}
	return parse(u, func(name string) string { return env[name] })
}

// TestSettings checks that settings come from the URL, then from the option file, then from
// the environment, as with the program mysql.
func TestSettings(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	other := filepath.Join(home, "other")
	for file, text := range map[string]string{
		filepath.Join(home, ".my.cnf"): "[mysqld]\nport=1\n[client]\nuser = ops\npassword = \"a#b\"\n[mysql]\nuser=x\n",
		other:                          "[client]\nhost=filehost\nport=7\ndatabase=files\nuser=me\npassword=it\\ss # mine\nsocket=/run/s\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{
		"HOME": home, "MYSQL_HOST": "envhost", "MYSQL_TCP_PORT": "8", "MYSQL_PWD": "env", "LEADERRUN_MYSQL_DATABASE": "envs",
	}
	socket := map[string]string{"MYSQL_UNIX_PORT": "/run/e", "LEADERRUN_MYSQL_DATABASE": "envs", "MYSQL_PWD": "env"}
	for _, tt := range []struct {
		address              string
		env                  map[string]string
		addr, user, password string
	}{
		{"mysql://u:secret@a,b:2/app", nil, "mysql://a:3306,b:2/app", "u", "secret"},
		{"mysql://u@[::1]:1/app", nil, "mysql://[::1]:1/app", "u", ""},
		{"mariadb://u@[::1],[::2]:1/app", nil, "mysql://[::1]:3306,[::2]:1/app", "u", ""},
		{"mysql://u@%2Frun%2Fs/app", nil, "mysql:///run/s/app", "u", ""},
		{"mysql", env, "mysql://envhost:8/envs", "ops", "a#b"},
		{"mysql://h/app", env, "mysql://h:8/app", "ops", "a#b"},
		{"mysql://u:mine@h/app", env, "mysql://h:8/app", "u", "mine"},
		{"mysql:///?defaults-file=" + other, env, "mysql://filehost:7/files", "me", "it s"},
		{"mysql://u@/app?socket=/run/x", env, "mysql:///run/x/app", "u", "a#b"},
		{"mysql://u@", socket, "mysql:///run/e/envs", "u", "env"},
		{"mysql://u@h", socket, "mysql://h:3306/envs", "u", "env"},
	} {
		s, err := settingsOf(tt.address, tt.env)
		if err != nil {
			t.Errorf("%s: %v", tt.address, err)
			continue
		}
		if s.addr() != tt.addr || s.user != tt.user || s.secret() != tt.password {
			t.Errorf("%s: got %q %q %q; want %q %q %q", tt.address, s.addr(), s.user, s.secret(), tt.addr, tt.user, tt.password)
		}
	}
	s, err := settingsOf("mysql:///?defaults-file="+other, nil)
	if err == nil {
		err = os.WriteFile(other, []byte("[client]\npassword=new\n"), 0o600)
	}
	if err != nil || s.secret() != "new" {
		t.Errorf("after the password was replaced: %v, %v", s, err)
	}
}

// TestEncryption checks when TLS is spoken, and whether the server is verified.
func TestEncryption(t *testing.T) {
	t.Parallel()
	const none, fallback, unverified, verified = "none", "if offered", "unverified", "verified"
	for _, tt := range []struct{ query, options, want string }{
		{"", "", fallback},
		{"?tls=false", "", none},
		{"?tls=true", "", verified},
		{"?servername=x", "", verified},
		{"", "ssl-mode=disabled", none},
		{"", "ssl_mode=PREFERRED", fallback},
		{"", "ssl-mode=REQUIRED", unverified},
		{"", "ssl-mode=VERIFY_CA", verified},
		{"", "ssl-mode=VERIFY_IDENTITY", verified},
		{"", "ssl", unverified},
		{"", "ssl\nssl-verify-server-cert", verified},
		{"", "ssl-verify-server-cert=on", verified},
		{"?tls=false", "ssl-mode=VERIFY_CA", none},
		{"?tls=true", "ssl-mode=DISABLED", verified},
	} {
		file := filepath.Join(t.TempDir(), "cnf")
		if err := os.WriteFile(file, []byte("[client]\n"+tt.options+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		q := strings.Replace("&"+tt.query, "&?", "&", 1)
		s, err := settingsOf("mysql://h/d?defaults-file="+file+strings.TrimSuffix(q, "&"), nil)
		if err != nil {
			t.Errorf("%+v: %v", tt, err)
			continue
		}
		got := none
		if s.tls != nil {
			switch insecure := s.tls.Config().InsecureSkipVerify; {
			case insecure && s.fallback:
				got = fallback
			case insecure:
				got = unverified
			case !s.fallback:
				got = verified
			}
		}
		if got != tt.want {
			t.Errorf("%q %q: TLS is %q; want %q", tt.query, tt.options, got, tt.want)
		}
	}
}

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "open")
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o606); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"mysql:host":                                     "two slashes",
		"mysql://h/app#x":                                "after #",
		"mysql://h/app?ssl-mode=disabled":                "unknown mysql parameter",
		"mysql://h/app?password=hunter2":                 "unknown mysql parameter",
		"mysql://u:hunter2@h:x/app":                      "port",
		"mysql://u:hunter2@h":                            "no database",
		"mysql://u:hunter2@h/a/b":                        "invalid database name",
		"mysql://u:hunter2@h/" + strings.Repeat("x", 65): "at most 64 characters",
		"mysql://u:hunter2@h/app?socket=/s":              "a host and a socket",
		"mysql://u:hunter2@h/app?cacert=/nowhere":        "/nowhere",
		"mysql://u:hunter2@h/app?cert=/nowhere":          "both cert and key",
		"mysql://u:hunter2@h/app?defaults-file=/nowhere": "/nowhere",
		"mysql://u:hunter2@h/app?defaults-file=" + open:  "by anybody",
	} {
		_, err := settingsOf(address, nil)
		if !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v; want an error with %q", address, err, want)
		}
	}
}

func FuzzOptions(f *testing.F) {
	f.Add("[client]\nuser = 'a'\npassword=\"b\" # c\n\n!include x\nskip\n[other]\nuser=z")
	f.Add("[client\n")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseOptions([]byte(text))
		b, again := parseOptions([]byte(text + "\n[mysqld]\nuser=y\n"))
		if err == nil && (again != nil || !maps.Equal(a, b)) {
			t.Errorf("%q: %v, and with another section %v, %v", text, a, b, again)
		}
	})
}
