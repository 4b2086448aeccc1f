package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

func TestWhichPlace(t *testing.T) {
	t.Parallel()
	home := place{dir: "/home/u/.local/state/leaderrun", parents: true}
	noHome, nobody := "", home
	if dir := passwordHome(); isHome(dir) {
		nobody.dir = filepath.Join(dir, ".local/state/leaderrun")
	} else {
		noHome = "HOME does not name a home directory"
	}
	if os.Geteuid() == 0 {
		home, noHome = place{dir: "/var/lib/leaderrun", parents: true}, ""
		nobody = home
	}
	env := map[string]string{"HOME": "/home/u"}
	for _, tt := range []struct {
		url  string
		env  map[string]string
		want place
		err  string
	}{
		{url: "file:", env: env, want: home},
		{url: "file", env: env, want: home},
		{url: "file:", env: map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/u", "XDG_STATE_HOME": "/x"}, want: home},
		{url: "file:", want: nobody, err: noHome},
		{url: "file:", env: map[string]string{"HOME": "u"}, want: nobody, err: noHome},
		{url: "file:", env: map[string]string{"HOME": "/"}, want: nobody, err: noHome},
		{url: "file:", env: map[string]string{dirVar: "/d/"}, want: place{dir: "/d"}},
		{url: "file:", env: map[string]string{dirVar: "d"}, err: dirVar + " is not an absolute path"},
		{url: "file:///d", env: map[string]string{dirVar: "/e"}, want: place{dir: "/d"}},
		{url: "file:///d/e/", want: place{dir: "/d/e"}},
		{url: "file:/d", want: place{dir: "/d"}},
		{url: "file:///a%20b%23%3F", want: place{dir: "/a b#?"}},
		{url: "file:///d?fs=any", want: place{dir: "/d", anyFS: true}},
		{url: "file:?fs=any", env: map[string]string{dirVar: "/d"}, want: place{dir: "/d", anyFS: true}},
		{url: "file:///d?fs=nfs", err: `file parameter fs="nfs" is not any`},
		{url: "file:///d?fs=", err: `fs="" is not any`},
		{url: "file:///d?fs=any&fs=any", err: "given twice"},
		{url: "file:d", err: "relative"},
		{url: "file:../d", err: "relative"},
		{url: "file://d/e", err: "host"},
		{url: "file://localhost/d", err: "host"},
		{url: "file://u@/d", err: "host"},
		{url: "file:///d#e", err: "%23"},
		{url: "file:///d%00", err: "control character"},
		{url: "file:///d%1b", err: "control character"},
		{url: "file:///d?mode=0700", err: `unknown file parameter "mode"`},
		{url: "file:?x=1", err: `unknown file parameter "x"`},
	} {
		u, err := locks.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := whichPlace(u, func(k string) string { return tt.env[k] })
		switch {
		case tt.err == "" && (err != nil || got != tt.want):
			t.Errorf("%s with %v: got %v, %v; want %v", tt.url, tt.env, got, err, tt.want)
		case tt.err != "" && (!errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s with %v: got %v, %v; want a usage error that says %q", tt.url, tt.env, got, err, tt.err)
		}
	}
}
