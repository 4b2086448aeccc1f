package azblob

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

// maxTTL is the longest lease that the service grants, apart from one without end. Leases
// are in whole seconds.
const maxTTL = time.Minute

// soon is how near the end of a SAS token must be for a warning at the start of a run.
const soon = time.Hour

// Open returns a handle on one lock in one container. It implements [locks.Opener]: it
// sends nothing.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	minTTL := known.Azblob.MinTTL
	if o.TTL > maxTTL {
		return nil, locks.Usagef("a ttl of %v; Azure Blob Storage grants leases of %v to %v", o.TTL, minTTL, maxTTL)
	}
	o.TTL = max((o.TTL + time.Second - 1).Truncate(time.Second), minTTL)
	if end := ends(s.sas); o.Logger != nil && !end.IsZero() && time.Until(end) < soon {
		o.Logger.Warn("the SAS token ends soon, and with it every lease; in a file that sas-file= names it can be replaced in time",
			"backend", "azblob://"+s.account, "lock", o.Name, "left", max(time.Until(end), 0).Round(time.Second))
	}
	st, err := newStore(s, o)
	if err != nil {
		return nil, err
	}
	return caslease.New(st, traits(s), o), nil
}

// traits returns what distinguishes the service from other stores.
func traits(s *settings) caslease.Traits {
	where := "azblob://" + s.account + "/" + s.container
	return caslease.Traits{
		Expiry:  caslease.ByLease,
		Poll:    2 * time.Second, // each look costs money
		Secrets: known.Azblob.Secrets(), Sent: func() []string { return []string{s.sasFile.Now(nil)} },
		Product: "Azure Blob Storage", Backend: where + "/" + s.prefix, Probed: "the container of",
		Cell: "blob", Record: "a " + recordKey + " in its metadata", Version: "ETag",
		Where: func(k caslease.Key) string { return where + "/" + s.blob(k) },

		HintSilent:  proxy.Hint("", s.service),
		HintRecord:  "while nobody has the lock, remove that key from the blob's metadata, and keep the others",
		HintUnmoved: "the blob's ETag must change with each change of its metadata; use the service itself, or an emulator that does the same",
	}
}

var _ locks.Opener = Open
