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

// checkLimit is how long leaderrun may take to answer. If it takes longer, it is frozen or
// gone, and we cannot be certain of the lease.
const checkLimit = time.Second

func checkCommand(*env.Env) *options.Command {
	return &options.Command{
		Name:  "check",
		Usage: "in a job: exit with 0 if this job certainly still holds the lock, otherwise 76",
		Define: func() ([]options.Option, func(*options.Invocation) error) {
			var length options.Duration
			return []options.Option{{Name: "for", Group: "Lease and stopping", Value: &length, From: options.Arguments, Usage: "also require the lease to last `DURATION` longer"}},
				func(*options.Invocation) error {
					sockets := os.Getenv("LEADERRUN_SOCKET")
					if sockets == "" {
						return output.WithHint(locks.Usagef("LEADERRUN_SOCKET is not set"), "leaderrun check works inside a job that leaderrun runs")
					}
					return check(sockets, length.D)
				}
		},
	}
}

// check reports a lost lease by its exit status alone, like test(1). It reads the clock
// after the answer has arrived, so that a delayed answer does not make the lease look
// longer than it is.
func check(sockets string, length time.Duration) error {
	for answer, err := range socket.Chain(sockets, checkLimit) {
		switch {
		case err != nil:
			return fmt.Errorf("%w: leaderrun does not answer: %w", locks.ErrLost, err)
		case answer.Outside:
			return fmt.Errorf("%w: this process is not part of the job", locks.ErrLost)
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

// isOfJob reports whether a lease is the one in the job's environment. With nested use it
// need not be the innermost one: inside lock a, lock b may be taken, and inside that a
// again.
func isOfJob(a socket.Answer) bool {
	lock, token, slot := os.Getenv("LEADERRUN_LOCK_NAME"), os.Getenv("LEADERRUN_TOKEN"), os.Getenv("LEADERRUN_SLOT")
	return (lock == "" || lock == a.Lock) && (token == "" || token == strconv.FormatUint(a.Token, 10)) &&
		(slot == "" || slot == strconv.Itoa(a.Slot))
}
