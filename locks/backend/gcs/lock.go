package gcs

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

// Open returns a handle on one lock in one bucket. It implements [locks.Opener]: it sends
// nothing.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	if o.TTL < shortTTL && o.Logger != nil {
		o.Logger.Warn("Cloud Storage may refuse renewals that come more than once a second; use a ttl of 5s or more",
			"backend", "gcs://"+s.bucket, "lock", o.Name, "ttl", o.TTL)
	}
	return caslease.New(newStore(s, o), traits(s), o), nil
}

const (
	// pace is the time between two writes to an object that the service promises to
	// accept.
	pace = time.Second
	// shortTTL is the ttl below which renewals are less than pace apart: a lease is
	// renewed five times.
	shortTTL = 5 * pace
	// margin is how far the clock that writes the Date of an answer may differ from the
	// one that stamps objects. Both are Google's, and synchronised far better than that.
	margin = time.Second
	// poll is the mean pause between two looks of a waiter. Each look costs money.
	poll = 2 * time.Second
)

// traits returns what distinguishes the service from other stores.
func traits(s *settings) caslease.Traits {
	return caslease.Traits{
		// The name of the key file counts as a secret: without the name, the job does not
		// learn of the file.
		Secrets: known.GCS.Secrets(),
		Expiry:  caslease.ByStamps, Margin: margin, Pace: pace, Poll: poll,
		Product: "Cloud Storage", Backend: "gcs://" + s.bucket + "/" + s.prefix, Probed: "the bucket of",
		Cell: "object", Record: "a " + recordKey + " in its metadata", Version: "metageneration", Updated: `"updated"`,
		Follows: follows,
		Where:   func(k caslease.Key) string { return "gs://" + s.bucket + "/" + s.object(k) },

		HintSilent:  proxy.Hint("", s.service()),
		HintRecord:  "remove it if it is not needed: gcloud storage objects update --remove-custom-metadata=" + recordKey,
		HintUnmoved: "leases are judged by the object's metageneration and its time updated, which Cloud Storage moves with each change; use the service itself, or an emulator that does the same",
	}
}

var _ locks.Opener = Open
