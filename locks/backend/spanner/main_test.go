package spanner

import (
	"os"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// TestMain sets an address without a server. Otherwise, a test that forgets to name an
// emulator would reach the service itself.
func TestMain(m *testing.M) {
	tester.Forget()
	_ = os.Setenv("SPANNER_EMULATOR_HOST", "127.0.0.1:1")
	drive.Parallel("4")
	os.Exit(m.Run())
}
