package backend

import (
	"net/url"
	"slices"
	"testing"
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
