package mysql

import (
	"context"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/rows"
)

const (
	// margin is the least time that a lock is left alone after its lease has ended by the
	// server's clock. The clock of a server that was restarted, or that has taken another's
	// place, proves nothing: see epoch.
	margin = time.Second
	// poll is the mean pause between two looks of a waiter. A look is a query by primary key.
	poll = time.Second
	// longestPoll is the longest such pause, of a waiter that has waited for a while.
	longestPoll = 5 * time.Second
)

// Open returns a handle on one lock in one table. It implements [locks.Opener]: it sends
// nothing.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	s, err := parse(u, os.Getenv, globalFiles()...)
	if err != nil {
		return nil, err
	}
	s.lock = o.Name
	if i := slices.IndexFunc(s.hosts, s.trustsAnyKey); i >= 0 && (s.tls == nil || s.fallback) && o.Logger != nil {
		o.Logger.Warn("get-server-public-key is set: without TLS, the password goes to whoever answers", "server", s.hosts[i])
	}
	return caslease.New(newStore(s, o.ConnectTimeout), traits(s), o), nil
}

func traits(s *settings) caslease.Traits {
	return caslease.Traits{
		Secrets: known.MySQL.Secrets(), Sent: func() []string { return []string{s.secret()} },
		Expiry: caslease.ByClock, Margin: margin, Poll: poll, LongestPoll: longestPoll,
		Product: "MySQL", Backend: s.addr(), Probed: "the table of", Cell: "row", Updated: "updated",
		Where: func(k caslease.Key) string {
			return "(" + k.Name + ", " + string('0'+rune(k.Part)) + ") of " + s.where()
		},
		// While a commit waits for a semi-synchronous replica, others may read it already
		// (rpl_semi_sync_master_wait_point = AFTER_COMMIT, the default of MariaDB).
		Follows: rows.Follows, ReadsEarly: true,

		Place:       "database",
		HintRecord:  "remove it if it is not needed: UPDATE " + s.where() + " SET text = NULL WHERE name = 'LOCK' AND part = 0",
		HintUnmoved: "no trigger may keep a row of this table from being changed, and no timestamp may be set for the session",
	}
}

var _ locks.Opener = Open
