package operate

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// checkLimit is how long leaderrun may take to answer. If it takes longer it is frozen or
// gone, and the lease is not certainly ours.
const checkLimit = time.Second

func checkCommand(*env.Env) *options.Command {
	return &options.Command{
		Name:  "check",
		Usage: "inside a job: exit with 0 if the lease is certainly ours, else 76",
		Define: func() ([]options.Option, func(*options.Request) error) {
			var length options.Duration
			return []options.Option{{Name: "for", Group: "Running", Value: &length, From: options.Arguments, Usage: "the lease must last for `DURATION` from now"}},
				func(*options.Request) error {
					path := os.Getenv("LEADERRUN_SOCKET")
					if path == "" {
						return output.WithHint(locks.Usagef("LEADERRUN_SOCKET is not set"), "leaderrun check works inside a job that leaderrun runs")
					}
					return check(path, length.D)
				}
		},
	}
}

// check says no by its exit status alone, as test(1) does. The clock is read
// after the answer came, so that no delay on its way makes it too good.
func check(path string, length time.Duration) error {
	for answer, err := range socket.Chain(path, checkLimit) {
		if err != nil {
			return fmt.Errorf("%w: leaderrun does not answer: %w", locks.ErrLost, err)
		}
		if isOfJob(answer.Answer) {
			if !answer.Ours(clock.Boot{}.Now().Add(length)) {
				return output.ExitWith(output.ExitLost)
			}
			return nil
		}
	}
	return fmt.Errorf("%w: no leaderrun around this job holds %s with token %s",
		locks.ErrLost, output.Quote(os.Getenv("LEADERRUN_LOCK_NAME")), output.Quote(os.Getenv("LEADERRUN_TOKEN")))
}

// isOfJob reports whether a lease is the one that the job was told of. With
// nested use that may be another than the innermost: of a lock a, taken once
// more inside b inside a.
func isOfJob(a socket.Answer) bool {
	lock, token, slot := os.Getenv("LEADERRUN_LOCK_NAME"), os.Getenv("LEADERRUN_TOKEN"), os.Getenv("LEADERRUN_SLOT")
	return (lock == "" || lock == a.Lock) && (token == "" || token == strconv.FormatUint(a.Token, 10)) &&
		(slot == "" || slot == strconv.Itoa(a.Slot))
}
