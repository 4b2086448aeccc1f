package quorum

import (
	"os"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

func TestMain(m *testing.M) {
	tester.Forget()
	drive.Parallel("4")
	os.Exit(m.Run())
}
