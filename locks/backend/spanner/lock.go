package spanner

import (
	"context"
	"net/url"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/kit/proxy"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

const (
	// margin is how far the clock of the server that runs a statement may be ahead of
	// commit timestamps. Spanner's servers have clocks that agree within milliseconds.
	margin = time.Second
	// poll is the mean pause between two looks of a waiter. A look is a query by primary key.
	poll = time.Second
)

// Open returns a handle on one lock in one table. It implements [locks.Opener]: it sends
// nothing.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	return caslease.New(newStore(s, o.ConnectTimeout), traits(s), o), nil
}

func traits(s *settings) caslease.Traits {
	return caslease.Traits{
		// The name of the key file counts as a secret: without the name, the job does not
		// learn of the file.
		Secrets: known.Spanner.Secrets(),
		Expiry:  caslease.ByClock, Disciplined: true, Margin: margin, Poll: poll,
		Product: "Spanner", Backend: s.addr(), Probed: "the table of",
		Cell: "row", Version: "commit timestamp", Updated: "commit timestamp",
		Where: func(k caslease.Key) string {
			return "(" + k.Name + ", " + string('0'+rune(k.Part)) + ") of " + s.table
		},
		Follows: follows,

		HintSilent:  proxy.GRPC("", s.service()),
		Place:       "table with table=",
		HintRecord:  "remove it if it is not needed: UPDATE " + s.table + " SET record = NULL WHERE name = 'LOCK' AND part = 0",
		HintUnmoved: "leases are judged by the row's commit timestamp, which Spanner moves with each change; use the service itself, or an emulator that does the same",
	}
}

// follows reports whether a version of a row can come after another, which is "" for a row
// that did not exist.
func follows(since, version string) bool {
	after, err := time.Parse(time.RFC3339Nano, version)
	if err != nil || since == "" {
		return err == nil
	}
	before, err := time.Parse(time.RFC3339Nano, since)
	return err == nil && after.After(before)
}

var _ locks.Opener = Open
