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
