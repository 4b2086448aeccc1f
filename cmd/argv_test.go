package cmd

import (
	"slices"
	"strings"
	"testing"
	"unsafe"
)

func TestPasswordIn(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"":                                       "",
		"etcd":                                   "",
		"etcd://h:2379/p":                        "",
		"etcd://alice@h:2379/p":                  "",
		"etcd://alice:secret@h:2379/p":           "secret",
		"--backend=etcd://alice:secret@h:2379/p": "secret",
		"-betcd://alice:secret@h:2379":           "secret",
		"etcd://alice:xxxxx@h":                   "",
		"etcd://alice:xsecret@h":                 "xsecret",
		"etcd://alice:xxxxxx@h":                  "xxxxxx",
		"etcd://alice:s@h":                       "s",
		"etcd://alice:se:cret@h":                 "se:cret",
		"etcd://alice:se/cret@h":                 "se/cret",
		"etcd://:secret@h":                       "secret",
		"postgres://h:1/d?a=b&password=secret&c": "secret",
		"-bhost=db password=secret":              "host=db password=secret",
		"--backend=toy://h?x=secret":             "secret",
		"--health=http://h/?token=secret":        "secret",
		"-betcd://h?key=/f&new=secret":           "secret",
		"-betcd://h?key=/f":                      "",
		"a=1; b=2":                               "",
		"-bpostgres://u:one@h/d?sslpassword=two": "one@h/d?sslpassword=two",
	} {
		if got := passwordIn(arg); got != want {
			t.Errorf("passwordIn(%q) = %q; want %q", arg, got, want)
		}
	}
}

// TestHidePasswords uses memory that is not part of the argument vector, and so must not be
// written.
func TestHidePasswords(t *testing.T) {
	t.Parallel()
	args := []string{"leaderrun", "-b", "etcd://alice:secret@h", "--", "echo", "plain"}
	if got := hidePasswords(args); !slices.Equal(got, args) || args[2] != "etcd://alice:secret@h" {
		t.Errorf("got %q, from %q", got, args)
	}
}

// FuzzPasswordIn checks that after the password is overwritten, nothing is left to hide.
func FuzzPasswordIn(f *testing.F) {
	f.Add("etcd://alice:secret@h")
	f.Add("--backend=etcd://a:b:c@d@e/f?g#h")
	f.Add("-betcd://a:b@c")
	f.Add("0:0:0@")
	f.Fuzz(func(t *testing.T, arg string) {
		secret := passwordIn(arg)
		if secret == "" {
			return
		}
		at := int(uintptr(unsafe.Pointer(unsafe.StringData(secret))) - uintptr(unsafe.Pointer(unsafe.StringData(arg))))
		if at < 0 || at+len(secret) > len(arg) || arg[at:at+len(secret)] != secret {
			t.Fatalf("passwordIn(%q) = %q, which is not part of it", arg, secret)
		}
		hidden := arg[:at] + strings.Repeat("x", len(secret)) + arg[at+len(secret):]
		if left := passwordIn(hidden); strings.Trim(left, "x") != "" {
			t.Errorf("%q: in %q there is still %q", arg, hidden, left)
		}
	})
}
