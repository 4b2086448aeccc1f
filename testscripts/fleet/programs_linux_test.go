package fleet

import (
	"flag"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// built are the programs of this test process.
var built programs.Programs

func TestMain(m *testing.M) {
	// Fleets mostly wait; a machine with two cores can run many at once.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	code := m.Run()
	built.Remove()
	os.Exit(code)
}

func build(t *testing.T) {
	t.Helper()
	if err := built.Build("./testdata/leaderrun", programs.Subject, programs.Helpers); err != nil {
		t.Fatal(err)
	}
}

// times names how many long runs a test is worth.
const times = "FLEET_TIMES"

// size returns how much of something to test: the short form, the long one of
// LEADERRUN_TEST_LONG=1, or FLEET_TIMES that.
func size(t *testing.T, short, long int) int {
	t.Helper()
	if text := os.Getenv(times); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s=%s is not a number of times", times, text)
		}
		return n * long
	}
	if tester.Long() {
		return long
	}
	return short
}

// seed returns the seed of a run. It prints the seed, so that the run can be planned
// again.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := uint64(time.Now().UnixNano())
	if text := os.Getenv("LEADERRUN_TEST_SEED"); text != "" {
		var err error
		if s, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("LEADERRUN_TEST_SEED=%d", s)
	return s
}

// environment returns the environment of all programs of a fleet. No other program has
// the cookie.
func environment(dir, cookie string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + dir,
		"TMPDIR=" + os.TempDir(),
		"LEADERRUN_CONFIG=" + os.DevNull,
		trace.CookieVariable + "=" + cookie,
	}
}

func program(name string) string { return built.Path(name) }
