package main

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// TestStore checks the promises of the store.
func TestStore(t *testing.T) {
	d, next := start(t), &fault{RoundTripper: &http.Transport{}}
	put := func(body string) func(testing.TB, caslease.Key) {
		return func(tb testing.TB, k caslease.Key) { d.ask(tb, http.MethodPut, newStore("", "test").path(k), body) }
	}
	storetest.Run(t, storetest.Config{
		Open: func(testing.TB) caslease.Store {
			return &store{host: d.addr, prefix: "test", client: &http.Client{Transport: next}}
		},
		Expiry:      traits(&store{}).Expiry,
		FailNext:    func(_ testing.TB, k causes.Kind) { next.kind.Store(int64(k) + 1) },
		Unreachable: func(testing.TB) caslease.Store { return newStore("127.0.0.1:1", "test") },
		Hostile:     []func(testing.TB, caslease.Key){put(""), put("?"), put(`{"state":"` + strings.Repeat("x", 300<<10) + `"}`)},
	})
}

// TestConformance checks the promises of the lock over it, in the program that users run.
func TestConformance(t *testing.T) {
	program := build(t, ".", "leaderrun-shelf")
	lockstest.Run(t, start(t).config((&helper.Programs{Libexec: filepath.Dir(program)}).Open))
}

// config says how to reach a shelfd, and how to harm it.
func (d *shelfd) config(open locks.Opener) lockstest.Config {
	c := storetest.Conformance(&store{}, traits(&store{}), func(_ testing.TB, u *url.URL) caslease.Store {
		return newStore(d.addr, strings.Trim(u.Path, "/"))
	})
	c.Open, c.TTL = open, time.Second
	c.URL = func(tb testing.TB) *url.URL { return d.url(tb, fmt.Sprint("/test", d.tests.Add(1))) }
	c.Twin = func(tb testing.TB, u *url.URL) *url.URL { return d.url(tb, u.Path) }
	c.Cut = func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return d.proxies.Cut(u.Host, how) }
	c.Restart = func(testing.TB, *url.URL) { d.Kill(); d.serve() }
	c.Connections = func(_ testing.TB, u *url.URL) int { return d.proxies.Find(u.Host).Open() }
	c.Kept = func(tb testing.TB, u *url.URL) []string {
		return strings.Fields(d.ask(tb, http.MethodGet, u.Path+"/", ""))
	}
	return c
}
