package postgres

import (
	"context"
	"net/url"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/rows"
)

const (
	// margin is the least time that a lock is left alone after its lease has ended by the
	// server's clock. The clock of a server that was restarted, or that has taken another's
	// place, proves nothing: see columns.
	margin = time.Second
	// poll is the mean pause between two looks of a waiter without notifications. A look
	// is a query by primary key.
	poll = time.Second
	// longestPoll is the longest such pause, of a waiter that has waited for a while.
	longestPoll = 5 * time.Second
)

// Open returns a handle on one lock in one table. It implements [locks.Opener]: it sends
// nothing.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	s.lock = o.Name
	return caslease.New(newStore(s, o.ConnectTimeout, o.Logger), traits(s), o), nil
}

func traits(s *settings) caslease.Traits {
	return caslease.Traits{
		// The names of files and of the service count as secrets: without them, the job does
		// not learn of the files.
		Secrets: known.Postgres.Secrets(), Sent: s.sent,
		Expiry: caslease.ByClock, Margin: margin, Poll: poll, LongestPoll: longestPoll,
		Product: "PostgreSQL", Backend: s.addr(), Probed: "the table of", Cell: "row", Updated: "updated",
		Where: func(k caslease.Key) string {
			return "(" + k.Name + ", " + string('0'+rune(k.Part)) + ") of " + s.where()
		},
		Follows: rows.Follows, ReadsEarly: true, // a read may return a commit that no standby has: see warnedError

		Place:       "schema with schema=",
		HintRecord:  "remove it if it is not needed: UPDATE " + s.where() + " SET text = NULL WHERE name = 'LOCK' AND part = 0",
		HintUnmoved: "no trigger, rule or policy (row-level security) may hide a row of this table, or keep it from being changed",
	}
}

var _ locks.Opener = Open
