package backend

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// demo is an imaginary backend.
var demo = &Info{
	Scheme: "demo",
	Params: []Param{{Name: "strict", About: Refusal}, {Name: "token-file", About: User}, {Name: "zone"}},
	Variables: []Variable{
		{Name: "DEMO_HOSTS", About: Address},
		{Name: "DEMO_TOKEN", About: User, Secret: true},
		{Name: "LEADERRUN_DEMO_TOKEN_FILE", About: User},
		{Name: "HOME", About: Address, Ambient: true},
	},
}

func TestWhere(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"demo://h/p":          "demo://h/p",
		"demo://h/p?strict=1": "demo://h/p",
		"demo://h/p?zone=a&token-file=f&strict=1": "demo://h/p?zone=a",
		"demo://h/p?other=x":                      "demo://h/p?other=x",
		"demo://h/p?strict=1&bad=%zz":             "demo://h/p?strict=1&bad=%zz",
	} {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if got := demo.Where(u).String(); got != want || u.String() != at {
			t.Errorf("%s: got %s, want %s; u has become %s", at, got, want, u)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "login"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	info := &Info{Scheme: "demo", Refused: []Refused{
		{Name: "DEMO_SRV", Unless: "host", Instead: "set DEMO_HOSTS"},
		{Name: "DEMO_ZONE", Unless: "zone"},
		{Name: "DEMO_LOGIN", Unless: "DEMO_TOKEN"},
		{Name: "DEMO_API", Except: []string{"3"}},
		{Name: "DEMO_DIR", File: "login"},
	}}
	for _, tt := range []struct {
		at, env string
		want    string
	}{
		{"demo:", "", ""},
		{"demo:", "DEMO_SRV=x", "DEMO_SRV is set, but the backend demo does not support it: unset it, and set DEMO_HOSTS"},
		{"demo://h", "DEMO_SRV=x", ""},
		{"demo://h", "DEMO_ZONE=x", "DEMO_ZONE"},
		{"demo://h?zone=y", "DEMO_ZONE=x", ""},
		{"demo://h", "DEMO_LOGIN=x", "DEMO_LOGIN"},
		{"demo://h", "DEMO_LOGIN=x DEMO_TOKEN=y", ""},
		{"demo://h", "DEMO_API=2", "DEMO_API"},
		{"demo://h", "DEMO_API=3", ""},
		{"demo://h", "DEMO_DIR=" + dir, "DEMO_DIR"},
		{"demo://h", "DEMO_DIR=" + dir + "/other", ""},
	} {
		u, err := url.Parse(tt.at)
		if err != nil {
			t.Fatal(err)
		}
		err = info.CheckVariables(u, tester.Environment(strings.Fields(tt.env)...))
		if ok := err == nil; ok != (tt.want == "") || !ok && (!errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: got %v", tt, err)
		}
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"DEMO_HOSTS": true, "DEMO_TOKEN": false, "HOME": true, "LEADERRUN_DEMO_TOKEN_FILE": false,
		"LEADERRUN_DEMO_NEW": true, "LEADERRUN_OTHER_NEW": false, "DEMO_OTHER": false,
	} {
		if got := demo.SaysWhere(name); got != want {
			t.Errorf("%s SaysWhere: got %v", name, got)
		}
	}
	if got, want := demo.Heeded(), []string{"DEMO_HOSTS", "DEMO_TOKEN", "LEADERRUN_DEMO_TOKEN_FILE"}; !slices.Equal(got, want) {
		t.Errorf("Heeded: got %q, want %q", got, want)
	}
	if got, want := demo.Addresses(), []string{"DEMO_HOSTS"}; !slices.Equal(got, want) {
		t.Errorf("Addresses: got %q, want %q", got, want)
	}
	if got, want := demo.Secrets(), []string{"DEMO_TOKEN"}; !slices.Equal(got, want) {
		t.Errorf("Secrets: got %q, want %q", got, want)
	}
}
