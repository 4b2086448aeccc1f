package runner

import (
	"log/slog"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/health"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/socket"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// Options say what to run, under which lock, and how. A field is required unless its comment
// says what its zero value means.
type Options struct {
	Command proc.Command
	Lock    string // the lock's name
	Backend string // the backend's name for users, without a password
	Store   string // identifies where the lock is kept, for a leaderrun in the job, without telling it; "" equals nothing
	Holder  string // our id
	RunID   string // random, as in locks.Options; "": the record of a lock cannot prove that the lock is ours

	Try            bool           // give up at once if the lock is held
	Wait           *time.Duration // give up after this time; nil: never
	ConnectTimeout time.Duration  // bounds a release and, with Try, the whole campaign
	Timing         timing.Timing
	Signal         os.Signal // sent first when leadership cannot be kept
	WaitChildren   bool      // let processes that the first one leaves behind end by themselves
	ScrubEnv       bool      // keep the backend's credentials from the job

	// The zero values of these mean that they are not wanted.
	Splay      time.Duration // wait this long before the first campaign
	MinHold    time.Duration // hold the lock for at least this long from the start of the job
	MaxRuntime time.Duration // end a job that runs for longer
	Restart    Restart       // start the job again under the same lease
	Rejoin     bool          // campaign again when the term has ended, unless a signal ended it; not with Try or Wait
	Hooks      Hooks
	Health     *health.Config // nil: do not check the job
	NoResign   bool           // do not resign when asked to
	Once       *Once          // nil: run the job whatever has run before
	Strict     bool           // if the previous holder did not release, wait until its lease has ended for certain
	Priority   *int           // let waiters with a greater priority lead first; nil: do not look

	Signals <-chan os.Signal // those that we receive
	Clock   clock.Clock      // nil: the boot clock
	Logger  *slog.Logger

	// Serve, if not nil, replaces socket.Serve in tests: a bubble of testing/synctest must
	// not block in a system call.
	Serve func(func() socket.Answer) (*socket.Server, error)
}
