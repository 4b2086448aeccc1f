package mysql

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
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
		filepath.Join(home, ".my.cnf"): "[mysqld]\nport=1\n[client]\nuser = ops\npassword = \"a#b\"\n[mysqldump]\nuser=x\n",
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
		{"", "skip-ssl", none},
		{"", "ssl=0", none},
		{"?tls=true", "skip-ssl", verified},
		{"", "ssl=0\nssl-verify-server-cert", verified},
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

// optionsOf parses a text as the only option file.
func optionsOf(text string) (options, error) {
	return parseOptions([]string{"x"}, "", func(string) ([]byte, error) { return []byte(text), nil })
}

// TestOptionFile checks that an option file is read as MySQL's programs do. TestOptionFileAsTool
// has the values.
func TestOptionFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]options{
		`user=bob\t`:                                {"user": "bob\t"},
		"host=db1#primary":                          {"host": "db1"},
		"password=x\n[mysqld]\npassword=y":          {"password": "x"},
		"password=x\n[Client]\npassword=y":          {"password": "y"},
		"user=x\n[mysql]\nuser=y\n[ mysql]\nuser=z": {"user": "y"},
		"[client-server]\nport=1\n[client-mariadb]\nssl\n[mariadb-client ] x\nhost=h": {"port": "1", "ssl": "1", "host": "h"},
		"skip-ssl":                              {"ssl": "0"},
		"disable_ssl=0":                         {"ssl": "1"},
		"loose-skip-ssl\nloose-password=x":      {"ssl": "0", "password": "x"},
		"enable-ssl=0":                          {"ssl": "0"},
		"skip-auto-rehash\nno-beep\n!what ever": {},
		"ssl-cipher=":                           {"ssl-cipher": ""},
		"tls-version=TLSv1.2,TLSv1.3":           {"tls-version": "TLSv1.2,TLSv1.3"},
	} {
		if got, err := optionsOf("[client]\n" + text); err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"user=x":                           "before the first group",
		"[client":                          "invalid line 1",
		"[client]\npassword":               "password has no value",
		"[client]\nuser#=x":                "user has no value",
		"[client]\npass=x":                 "write password",
		"[client]\nloose-ssl-ver":          "write ssl-verify-server-cert",
		"[client]\nssl_cipher=AES":         "ssl-cipher: let the server",
		"[mysql]\nloose-bind-address=::1":  "bind-address: remove it",
		"[client]\ntls-version=TLSv1.3":    "tls-version without TLSv1.2",
		"[client]\n!includedir /no/such/d": "/no/such/d",
		"[client]\n!include x":             "include each other",
	} {
		if _, err := optionsOf(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v; want an error with %q", text, err, want)
		}
	}
}

// TestOptionFiles checks which files are read, and in which order.
func TestOptionFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"etc.cnf":      "[client]\nhost=etc\nuser=etc\ndatabase=d\n!include " + path("more") + "\nport=9\n!include /no/such/file\n!includedir " + path("conf.d"),
		"more":         "[client]\nport=1\n[mysqld]\n",
		"conf.d/b.cnf": "[client]\nsocket=/b\n[client-east]\nuser=east\n",
		"conf.d/a.cnf": "[client]\nsocket=/a\n",
		"conf.d/c.ini": "[client]\nsocket=/c\n",
		"my/my.cnf":    "[client]\nhost=home\n",
		".my.cnf":      "[client]\npassword=old\n",
		"only":         "[client]\ndatabase=o\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ address, env, want string }{
		{"mysql:", "", "mysql://etc:9/d etc old"},
		{"mysql:", "MYSQL_HOME=" + path("my"), "mysql://home:9/d etc old"},
		{"mysql:", "MYSQL_GROUP_SUFFIX=-east", "mysql://etc:9/d east old"},
		{"mysql://u@h", "", "mysql://h:9/d u old"},
		{"mysql://u@?defaults-file=" + path("only"), "", "mysql://127.0.0.1:3306/o u "},
	} {
		u, err := locks.Parse(tt.address)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parse(u, tester.Environment("HOME="+dir, tt.env), path("etc.cnf"), "/no/such/file")
		if err != nil {
			t.Errorf("%+v: %v", tt, err)
		} else if got := s.addr() + " " + s.user + " " + s.secret(); got != tt.want {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
}

// TestSocketOrHost checks when a socket is used, as the program mysql does.
func TestSocketOrHost(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		"socket=/s":                               "/s",
		"socket=/s\nhost=localhost":               "/s",
		"socket=/s\nhost=h":                       "h:3306",
		"socket=/s\nprotocol=tcp":                 "127.0.0.1:3306",
		"socket=/s\nhost=localhost\nprotocol=TCP": "localhost:3306",
		"socket=/s\nprotocol=SOCKET":              "/s",
		"protocol=SOCKET":                         "there is no socket",
		"host=h\nsocket=/s\nprotocol=SOCKET":      "there is no socket",
		"protocol=PIPE":                           "there is no socket",
	} {
		file := filepath.Join(t.TempDir(), "cnf")
		if err := os.WriteFile(file, []byte("[client]\n"+options), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := settingsOf("mysql:///d?defaults-file="+file, nil)
		if got := fmt.Sprint(s, err); err == nil && s.hosts[0] != want || err != nil && !strings.Contains(got, want) {
			t.Errorf("%q: got %v, %v; want %s", options, s, err, want)
		}
	}
}

// TestLoginFile checks that a file of mysql_config_editor is not ignored.
func TestLoginFile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, ".mylogin.cnf")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for address, refused := range map[string]bool{"mysql:///d": true, "mysql://h/d": true, "mysql://u@/d": true, "mysql://u@h/d": false, "mysql://u@/d?socket=/s": false} {
		for _, env := range []map[string]string{{"HOME": home}, {"MYSQL_TEST_LOGIN_FILE": file}} {
			if _, err := settingsOf(address, env); refused != (err != nil && strings.Contains(err.Error(), file)) {
				t.Errorf("%s: got %v", address, err)
			}
		}
	}
}

func FuzzOptions(f *testing.F) {
	f.Add("[client]\nuser = 'a'\npassword=\"b\" # c\n\n!include x\nskip\n[other]\nuser=z")
	f.Add("[client\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "!include") {
			t.Skip("it may name a file of the machine")
		}
		a, err := optionsOf(text)
		b, again := optionsOf(text + "\n[mysqld]\nuser=y\n")
		if err == nil && (again != nil || !maps.Equal(a, b)) {
			t.Errorf("%q: %v, and with another section %v, %v", text, a, b, again)
		}
	})
}
