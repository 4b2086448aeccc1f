package complete

import (
	"os"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

func TestMain(m *testing.M) {
	tester.Forget()
	os.Exit(m.Run())
}
