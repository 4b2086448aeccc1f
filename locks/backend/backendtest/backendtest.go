// Package backendtest compares a backend with its description, and with the store's own tools.
// This is a package of its own because the tests of all backends use it.
package backendtest

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// Tool fails if a backend ignores a setting of one of the store's own tools without a reason.
// Each line of the file has a setting. If the backend does not use it, and does not refuse it
// by name, as decided says, the reason why neither the server, nor the user, nor TLS depend on
// it follows after a colon. The settings that the tool itself names are in asked.
func Tool(t *testing.T, file string, decided func(setting string) bool, asked ...string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var table []string
	for line := range strings.Lines(string(text)) {
		name, reason, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "" || name[0] == '#' {
			continue
		}
		table = append(table, name)
		if (reason == "") != decided(name) {
			t.Errorf("%s: the backend uses or refuses %s: %v; the table has the reason %q for ignoring it", file, name, decided(name), reason)
		}
	}
	for _, name := range asked {
		if !slices.Contains(table, name) {
			t.Errorf("the tool has a setting %s, which %s lacks: let the backend use it or refuse it, or give a reason for ignoring it", name, file)
		}
	}
}

// Variable reports for [Tool] whether a backend reads or refuses a variable.
func Variable(i *backend.Info) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(i.Variables, func(v backend.Variable) bool { return v.Name == name }) || isRefused(i, name)
	}
}

func isRefused(i *backend.Info, name string) bool {
	return slices.ContainsFunc(i.Refused, func(r backend.Refused) bool { return r.Name == name })
}

// A Parse reads the settings of a URL, and what that leaves open from the environment, as
// the backend's Open does.
type Parse func(u *url.URL, getenv func(string) string) (settings any, err error)

// Settings fails if a backend reads a variable that is not described, does not read a
// described one, does not refuse one that it should, or ignores a described parameter. [backend.Info.CheckURL] refuses other
// parameters; Settings only checks, with the parameterless URL at, that it is called.
func Settings(t *testing.T, i *backend.Info, at string, parse Parse) {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	variables(t, i, u, parse)
	plain, err := parse(u, unset)
	if again, _ := parse(u, unset); err != nil || !reflect.DeepEqual(plain, again) {
		t.Fatalf("%s: the settings of %s cannot be compared: %v", i.Scheme, at, err)
	}
	for _, r := range i.Refused {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, cmp.Or(r.File, "x")), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		set := func(name string) string { return map[string]string{r.Name: dir}[name] }
		if _, err := parse(&url.URL{Scheme: i.Scheme}, set); !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), r.Name+" is set") {
			t.Errorf("%s: %s is not refused: %v", i.Scheme, r.Name, err)
		}
	}
	for _, p := range i.Params {
		if !matters(p, u, plain, parse) {
			t.Errorf("%s: the described parameter %s changes nothing", i.Scheme, p.Name)
		}
	}
	if _, err := parse(with(u, "undescribed", "x"), unset); err == nil {
		t.Errorf("%s: a parameter that is not described is accepted", i.Scheme)
	}
}

// unset is an empty environment.
func unset(string) string { return "" }

// variables checks which variables are read, for u and for a URL with only a scheme.
func variables(t *testing.T, i *backend.Info, u *url.URL, parse Parse) {
	t.Helper()
	var read []string
	note := func(name string) string {
		read = append(read, name)
		return ""
	}
	for _, at := range []*url.URL{u, {Scheme: i.Scheme}} {
		_, _ = parse(at, note) // missing settings do not matter
	}
	for _, name := range read {
		if !Variable(i)(name) {
			t.Errorf("%s: the variable %s is read but not described", i.Scheme, name)
		}
	}
	for _, v := range i.Variables {
		if !v.SDK && !v.Ambient && !slices.Contains(read, v.Name) {
			t.Errorf("%s: the variable %s is described but not read", i.Scheme, v.Name)
		}
	}
}

// matters reports whether a parameter changes the settings, or is refused.
func matters(p backend.Param, u *url.URL, plain any, parse Parse) bool {
	values := p.Words
	if values == nil {
		values = []string{"/no/such/thing"}
	}
	return slices.ContainsFunc(values, func(value string) bool {
		got, err := parse(with(u, p.Name, value), unset)
		return err != nil || !reflect.DeepEqual(got, plain)
	})
}

// with returns u with one more parameter.
func with(u *url.URL, name, value string) *url.URL {
	at := *u
	at.RawQuery = url.Values{name: {value}}.Encode()
	return &at
}

// Parses fails if the settings of a URL, and of variables like NAME=VALUE, are not printed as
// wanted.
func Parses[S fmt.Stringer](t *testing.T, parse func(*url.URL, func(string) string) (S, error), rawURL string, env []string, want string) {
	t.Helper()
	if s, err := settings(parse, rawURL, env); err != nil || s.String() != want {
		t.Errorf("%s %q: got %v, %v; want %s", rawURL, env, s, err, want)
	}
}

// Refuses fails if settings like those of [Parses] are accepted, or if the error does not say
// what is wanted, or shows the password "opensesame".
func Refuses[S any](t *testing.T, parse func(*url.URL, func(string) string) (S, error), rawURL string, env []string, want string) {
	t.Helper()
	s, err := settings(parse, rawURL, env)
	if !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "opensesame") {
		t.Errorf("%s %q: got %v, %v; want a usage error with %q", locks.Abbreviate(rawURL), env, s, err, want)
	}
}

func settings[S any](parse func(*url.URL, func(string) string) (S, error), rawURL string, env []string) (s S, err error) {
	u, err := locks.Parse(rawURL)
	if err != nil {
		return s, err
	}
	return parse(u, tester.Environment(env...))
}
