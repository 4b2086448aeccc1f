package fleet

import (
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/oracle"
)

// gone checks that soon nothing of a fleet is left.
func gone(t *testing.T, cookie string) {
	t.Helper()
	left, err := oracle.Gone(cookie, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// within polls until ok, for a while.
func within(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); !ok(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
