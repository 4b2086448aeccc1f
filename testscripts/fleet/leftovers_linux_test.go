package fleet

import (
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// gone checks that nothing of a fleet is left after a moment.
func gone(t *testing.T, cookie string) {
	t.Helper()
	left, err := oracle.Gone(cookie, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		trial.Final(t, "left behind: %q", left)
	}
}

// within polls until ok returns true or the limit is over.
func within(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); !ok(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
