package locks_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

var errOpened = errors.New("opened")

func opener(got *string) locks.Opener {
	return func(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
		*got = u.String() + " " + o.Name
		return nil, errOpened
	}
}

func TestRegistryOpen(t *testing.T) {
	var got string
	var r locks.Registry
	r.Register("etcd", opener(&got))
	r.Register("file", opener(new(string)))
	if want := []string{"etcd", "file"}; !slices.Equal(r.Schemes(), want) {
		t.Errorf("Schemes: got %q; want %q", r.Schemes(), want)
	}
	u := &url.URL{Scheme: "etcd", Host: "h"}
	if _, err := r.Open(t.Context(), u, locks.Options{Name: "a"}); !errors.Is(err, errOpened) || got != "etcd://h a" {
		t.Errorf("opened %q, %v", got, err)
	}

	_, err := r.Open(t.Context(), &url.URL{Scheme: "ectd"}, locks.Options{Name: "a"})
	if !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), `did you mean "etcd"?`) {
		t.Errorf("an unknown backend: %v", err)
	}
	r.Fallback = opener(&got)
	if _, err := r.Open(t.Context(), &url.URL{Scheme: "ectd"}, locks.Options{Name: "b"}); !errors.Is(err, errOpened) || got != "ectd: b" {
		t.Errorf("the fallback opened %q, %v", got, err)
	}
}

// TestRegistryChecksNames checks that no opener sees a name that is not allowed.
func TestRegistryChecksNames(t *testing.T) {
	var got string
	r := locks.Registry{Fallback: opener(&got)}
	r.Register("etcd", opener(&got))
	for _, scheme := range []string{"etcd", "other"} {
		for _, name := range []string{"", "../a", "a//b", "a\x00", strings.Repeat("x", 201)} {
			if _, err := r.Open(t.Context(), &url.URL{Scheme: scheme}, locks.Options{Name: name}); !errors.Is(err, locks.ErrUsage) || got != "" {
				t.Errorf("%s: Open(%.10q): %v, opened %q; want ErrUsage", scheme, name, err, got)
			}
		}
	}
}

func TestRegistryZero(t *testing.T) {
	var r locks.Registry
	if _, err := r.Open(t.Context(), &url.URL{Scheme: "etcd"}, locks.Options{Name: "a"}); !errors.Is(err, locks.ErrUsage) {
		t.Errorf("got %v; want ErrUsage", err)
	}
}

func TestRegisterTwice(t *testing.T) {
	var r locks.Registry
	r.Register("etcd", opener(new(string)))
	defer func() {
		if recover() == nil {
			t.Error("registering a scheme twice did not panic")
		}
	}()
	r.Register("etcd", opener(new(string)))
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"etcd", "etcd:"},
		{"file", "file:"},
		{"etcd:", "etcd:"},
		{"file:///var/lib/x", "file:///var/lib/x"},
		{"etcd://h1:2379,h2:2379/p?cacert=/ca.pem", "etcd://h1:2379,h2:2379/p?cacert=/ca.pem"},
		{"etcd://root:pw@h:2379/p%40q", "etcd://root:pw@h:2379/p%40q"},
		{"etcd://h:2379/p?cacert=/home/me@work/ca.pem", "etcd://h:2379/p?cacert=/home/me@work/ca.pem"},
		{"file:///home/me@work", "file:///home/me@work"},
		{"postgresql", "postgres:"},
		{"postgresql://u@h/d", "postgres://u@h/d"},
		{"mariadb://h/d", "mysql://h/d"},
		{"mysql://[::1]:1,[::2]:2/d?tls=true", "mysql://[::1]:1,[::2]:2/d?tls=true"},
		{"etcd://u:p%2Fw@h:1,[::1],i/p", "etcd://u:p%2Fw@h:1,[::1],i/p"},
		{"postgres://u@%2Frun%2Fpg:5433/d", "postgres://u@%2Frun%2Fpg:5433/d"},
	} {
		u, err := locks.Parse(tt.in)
		if err != nil || u.String() != tt.want {
			t.Errorf("Parse(%q) = %v, %v; want %q", tt.in, u, err, tt.want)
		} else if again, err := locks.ParseURL(u.String()); err != nil || again.Host != u.Host {
			t.Errorf("%q, as a helper reads it: %v, %v", tt.in, again, err)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{"", `backend "" is invalid`},
		{"/var/lib/x", `backend "/var/lib/x" is invalid`},
		{"127.0.0.1:2379", "is invalid"},
		{"ETCD://h", "is invalid"},
		{"etcd://h:x", `backend URL "etcd://h:x": invalid port ":x"`},
		{"etcd://%zz", "invalid URL escape"},
		{"etcd://h\n", `"etcd://h\n"`},
		{"etcd://root:hun/ter2@h", "in a password write / as %2F"},
		{"etcd://root:12/34@h", "in a password write / as %2F"},
		{"etcd://root:hun,[ter2/@h", "in a password write / as %2F"},
		{"etcd://root@h%zz", `invalid URL escape "%zz"`},
		{"etcd://%40", "invalid URL escape"},
	} {
		u, err := locks.Parse(tt.in)
		if !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%q) = %v, %v; want an ErrUsage with %q", tt.in, u, err, tt.want)
		}
	}
}

func TestCheckParams(t *testing.T) {
	for _, tt := range []struct{ query, want string }{
		{"", ""},
		{"cert=a&key=b", ""},
		{"cert=", ""},
		{"cert", ""},
		{"crt=a", `unknown etcd parameter "crt" (did you mean "cert"?); known: cert, key`},
		{"cert=a&cert=b", `etcd parameter "cert" is given twice`},
		{"cert=%zz", "etcd URL: the part after ? is malformed: invalid URL escape"},
		{"cert=a;key=b", "etcd URL: the part after ? is malformed: invalid semicolon separator in query"},
	} {
		err := locks.CheckParams(&url.URL{Scheme: "etcd", RawQuery: tt.query}, "cert", "key")
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want || err != nil && !errors.Is(err, locks.ErrUsage) {
			t.Errorf("CheckParams(%q): got %q; want %q", tt.query, got, tt.want)
		}
	}
}

type secretive struct{ locks.Lock }

func (secretive) SecretEnv() []string { return []string{"ETCDCTL_PASSWORD"} }

func TestSecretEnv(t *testing.T) {
	if got := locks.SecretEnv(secretive{}); !slices.Equal(got, []string{"ETCDCTL_PASSWORD"}) {
		t.Errorf("got %q", got)
	}
	if got := locks.SecretEnv(struct{ locks.Lock }{}); got != nil {
		t.Errorf("a lock without secrets has %q", got)
	}
}
