package locks_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

func TestRedactText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"etcd", "etcd"},
		{"etcd://h1:2379,h2:2379/p", "etcd://h1:2379,h2:2379/p"},
		{"etcd://root@h:2379", "etcd://root@h:2379"},
		{"etcd://root:secret@h:2379/p?x=1", "etcd://root:xxxxx@h:2379/p?x=1"},
		{"redis://:secret@h", "redis://:xxxxx@h"},
		{"etcd://root:sec@ret@h", "etcd://root:xxxxx@h"},
		{"etcd://root:sec:ret@h", "etcd://root:xxxxx@h"},
		{"etcd://root:se/cr?e#t@h/p", "etcd://root:xxxxx@h/p"},
		{"etcd://root:se://cret@h/p", "etcd://root:xxxxx@h/p"},
		{"ETCD://root:secret@h", "ETCD://root:xxxxx@h"},
		{"etcd:root:secret@h", "etcd:xxxxx@h"},
		{"root:secret@h", "root:xxxxx@h"},
		{"Root:p://secret@h", "Root:xxxxx@h"},
		{"postgres://h/d?sslmode=require&password=secret&a=b", "postgres://h/d?sslmode=require&password=xxxxx&a=b"},
		{"postgres://u:secret@h/d?ssl%50assword=secret", "postgres://u:xxxxx@h/d?ssl%50assword=xxxxx"},
		{"postgres://u:secret@h/d?passfile=/p", "postgres://u:xxxxx@h/d?passfile=/p"},
		{"http://h?passwd=secret&a_Token=secret&sig=secret&key=/k", "http://h?passwd=xxxxx&a_Token=xxxxx&sig=xxxxx&key=/k"},
		{"toy://h?token-file=/t&passfile=/p&sas=secret", "toy://h?token-file=/t&passfile=/p&sas=xxxxx"},
		{"file:///home/me@work/locks", "file:///home/me@work/locks"},
		{"/home/me@work", "/home/me@work"},
	} {
		if got := locks.RedactText(tt.in); got != tt.want {
			t.Errorf("RedactText(%q) = %q; want %q", tt.in, got, tt.want)
		}
	}
}

func TestRedact(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"etcd://root:secret@h:2379/p", "etcd://root:xxxxx@h:2379/p"},
		{"etcd://h:2379/p%40q?cacert=/home/me@work/ca.pem", "etcd://h:2379/p%40q?cacert=/home/me@work/ca.pem"},
		{"etcd:root:secret@h", "etcd:xxxxx@h"},
		{"etcd:", "etcd:"},
		{"postgres://u:secret@h/d?password=secret", "postgres://u:xxxxx@h/d?password=xxxxx"},
	} {
		u, err := url.Parse(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		if got := locks.Redact(u); got != tt.want {
			t.Errorf("Redact(%q) = %q; want %q", tt.in, got, tt.want)
		}
	}
}

// TestRedactBackend: what may be a connection string of another program is not shown.
func TestRedactBackend(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                    "",
		"etcd":                                "etcd",
		"etcd:":                               "etcd:",
		"h:2379":                              "h:2379",
		"file:///a=b;c":                       "file:///a=b;c",
		"host=db user=app password=secret":    "xxxxx",
		"AccountName=a;AccountKey=secret==;B": "xxxxx",
		"DefaultEndpointsProtocol=https;AccountKey=secret;BlobEndpoint=http://h/": "xxxxx",
		"postgres:host=db password=secret":                                        "postgres:xxxxx",
		"etcd://u:secret@h?shown=1&hidden=secret":                                 "etcd://u:xxxxx@h?shown=1&hidden=xxxxx",
		"other://h?shown=secret":                                                  "other://h?shown=xxxxx",
	} {
		hide := func(scheme, param string) bool { return scheme != "etcd" || param != "shown" }
		if got := locks.RedactBackend(in, hide); got != want {
			t.Errorf("RedactBackend(%q) = %q; want %q", in, got, want)
		}
		if _, err := locks.Parse(in); err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("Parse(%q): %v", in, err)
		}
	}
}

// written returns ways to write a backend with a password in it, well formed or not.
func written(password, rest string) []string {
	return []string{
		"etcd://root:" + password + "@" + rest,
		"etcd://:" + password + "@" + rest,
		"ETCD://root:" + password + "@" + rest,
		"etcd:root:" + password + "@" + rest,
		"Root:" + password + "@" + rest,
		"root:" + password + "@" + rest,
	}
}

// FuzzPasswordIsNeverShown puts a password of arbitrary characters between a user and a
// host, and searches all that could be printed for a part of it.
func FuzzPasswordIsNeverShown(f *testing.F) {
	const secret = "hunter2"
	for _, pair := range [][2]string{
		{"", ""}, {"/", ""}, {"", "/"}, {"#", ""}, {"", "?"}, {"@", "@"}, {":", ":"}, {"%zz", ""}, {"%", "%4"},
		{"\x00", "\n"}, {" ", "\""}, {"[", "]"}, {"12/", ""}, {"12#", ""}, {"@", "#"}, {"@", "/"}, {"/", "?"}, {"x://", ""}, {"\xff", "é"}, {`"`, `"`}, {"é\xff" + strings.Repeat("x", 70), ""},
	} {
		f.Add(pair[0], pair[1], "h:2379/p")
	}
	f.Fuzz(func(t *testing.T, before, after, rest string) {
		if strings.Contains(rest, secret) {
			return
		}
		for _, s := range written(before+secret+after, rest) {
			if strings.HasPrefix(before, "//") && !strings.Contains(s, "://root") {
				continue // then s is a URL, and this is its user
			}
			if got := locks.RedactText(s); strings.Contains(got, secret) {
				t.Errorf("RedactText(%q) = %q", s, got)
			}
			u, err := locks.Parse(s)
			switch {
			case err != nil && !errors.Is(err, locks.ErrUsage):
				t.Errorf("Parse(%q): %v; want ErrUsage", s, err)
			case err != nil && strings.Contains(err.Error(), secret):
				t.Errorf("Parse(%q): %v", s, err)
			case err == nil && !strings.Contains(u.RawQuery, "@") && strings.Contains(locks.Redact(u), secret):
				// A query may contain an @, so the password 12?3 is taken for a port and
				// a query.
				t.Errorf("Redact(%q) = %q", s, locks.Redact(u))
			}
		}
	})
}
