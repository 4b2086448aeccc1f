package gcs_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// documented has the preconditions that we use, by method of the JSON API, as its
// reference describes them. An emulator proves nothing about the service, so this is what
// the service promises.
//
//   - https://cloud.google.com/storage/docs/json_api/v1/objects/insert
//   - https://cloud.google.com/storage/docs/json_api/v1/objects/patch
//   - https://cloud.google.com/storage/docs/request-preconditions
var documented = map[string]map[string]string{
	"create": { // objects.insert
		"ifGenerationMatch=0": "the operation succeeds only if there are no live versions of the object",
	},
	"patch": { // objects.patch
		"ifGenerationMatch":     "the object's current generation matches, else 412",
		"ifMetagenerationMatch": "the object's current metageneration matches, else 412",
	},
	"read": {}, // objects.get
}

// TestPreconditions calls every method of a lock, with each write failing once, and looks
// at every request: each write has all the preconditions above, and there are no other
// requests.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	a, b := at(t, s, options("a")), at(t, s, options("b"))
	for _, verb := range []string{"create", "patch", "patch", "patch"} {
		s.Next(verb, gcstest.Fault{LoseReply: true})
		_, _ = a.Acquire(drive.Context(t), true)
		_ = renew(t, a)
		_ = renew(t, a)
		drive.Release(t, a)
		a = at(t, s, options("a"))
	}
	drive.Hold(t, a)
	s.Age("p/jobs%2Fnightly", time.Hour)
	drive.Hold(t, b) // takes over
	_ = renew(t, a)
	rec, ask := b.(locks.Recorder), a.(locks.Asker)
	for _, verb := range []string{"create", "patch", "patch"} {
		s.Next(verb, gcstest.Fault{LoseReply: true})
		_ = rec.SetRecord(drive.Context(t), []byte("x"))
		_, _ = rec.Record(drive.Context(t))
		_ = ask.Ask(drive.Context(t), 1, []byte("x"))
		_, _ = a.(locks.Inspector).Inspect(drive.Context(t))
	}
	drive.Release(t, a)
	s.Delete("p/jobs%2Fnightly")
	_ = renew(t, b)
	drive.Release(t, b)
	seen, asks := map[string]int{}, map[string]int{}
	for _, r := range s.Requests() {
		seen[r.Verb]++
		asks[verb(r)]++
		want, known := documented[r.Verb]
		if !known {
			t.Errorf("unexpected request %s %s", r.Method, r.Path)
		}
		if got := r.Preconditions(); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Errorf("%s with the preconditions [%s]; want %v", r.Verb, strings.Join(got, " "), slices.Sorted(maps.Keys(want)))
		}
	}
	if len(seen) != len(documented) || seen["patch"] < 8 || asks["ask create"] == 0 || asks["ask patch"] < 2 {
		t.Errorf("some requests were not tried: %v, %v", seen, asks)
	}
}
