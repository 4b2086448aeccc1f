package azblob_test

import (
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/azblob"
	"github.com/leaderrun/leaderrun/locks/backend/azblob/azblobtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

func TestMain(m *testing.M) {
	tester.Forget()
	_ = os.Setenv("AZURE_STORAGE_KEY", azblobtest.Key)
	drive.Parallel("48") // most tests wait for the end of a lease
	os.Exit(m.Run())
}

const lockName = "jobs/nightly"

// options returns options with a lease that is longer than a test takes.
func options(holder string) locks.Options {
	return locks.Options{Name: lockName, Holder: holder, TTL: time.Minute, ConnectTimeout: trial.Stretch(5 * time.Second), Version: "test"}
}

// open returns a handle that is closed when the test ends.
func open(t testing.TB, u *url.URL, o locks.Options) locks.Lock {
	t.Helper()
	return drive.Open(t, azblob.Open, u.String(), o)
}
