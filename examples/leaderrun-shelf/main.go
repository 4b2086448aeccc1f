// Leaderrun-shelf is a helper program of leaderrun, which keeps locks on a shelfd.
package main

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

func main() { os.Exit(helper.Main("shelf", open)) }

// open makes a lock of shelf://HOST:PORT/PREFIX. It contacts nobody.
func open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	if err := locks.CheckParams(u); err != nil { // an unknown parameter is an error
		return nil, err
	}
	prefix := strings.Trim(u.Path, "/")
	if u.Port() == "" || prefix == "" || strings.Contains(prefix, "//") {
		return nil, &locks.UsageError{What: "the URL of a shelf is shelf://HOST:PORT/PREFIX"}
	}
	s := newStore(u.Host, prefix)
	return caslease.New(s, traits(s), o), nil
}

func newStore(host, prefix string) *store {
	return &store{host: host, prefix: prefix, client: &http.Client{Transport: &http.Transport{}}}
}

// traits describes a shelf.
func traits(s *store) caslease.Traits {
	return caslease.Traits{
		Expiry: caslease.ByClock, Disciplined: true, Margin: time.Second, // its clock may be ahead by that after a restart
		Poll:    200 * time.Millisecond, // reads are cheap
		Backend: "shelf://" + s.host + "/" + s.prefix, Cell: "document", Where: s.path,
	}
}
