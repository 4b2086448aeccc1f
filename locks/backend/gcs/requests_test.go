package gcs_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestNothingIsRepeated checks that a renewal that fails is one request: the SDK must not retry,
// because requests cost money and are limited.
func TestNothingIsRepeated(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	l := at(t, s, options("a"))
	drive.Hold(t, l)
	verbs(s)
	s.Fault(func(gcstest.Request) gcstest.Fault { return gcstest.Fault{Status: 503} })
	if err := renew(t, l); !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("renew: %v", err)
	}
	if got, want := verbs(s), (map[string]int{"patch": 1}); !maps.Equal(got, want) {
		t.Errorf("a failed renewal made the requests %v; want %v", got, want)
	}
}
