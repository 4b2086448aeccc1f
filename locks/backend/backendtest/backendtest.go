// Package backendtest compares a backend with its description.
package backendtest

import (
	"net/url"
	"reflect"
	"slices"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend"
)

// A Parse reads the settings of a URL, and what that leaves open from the environment, as
// the backend's Open does.
type Parse func(u *url.URL, getenv func(string) string) (settings any, err error)

// Settings fails if a backend reads a variable that is not described, does not read a
// described one, or ignores a described parameter. [backend.Info.CheckURL] refuses other
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
		if !slices.ContainsFunc(i.Variables, func(v backend.Variable) bool { return v.Name == name }) {
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
