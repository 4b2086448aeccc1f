package run

import (
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks/program/threads"
)

// How many tasks a run takes in addition to those that leaderrun has when it starts. If the Go
// runtime finds no room for one, it ends us with pages of text.
const (
	tasksOfRun    = 11 + threads.OfCore + threads.OfGuard // our threads, those of the guard, and the job
	tasksOfHelper = 6 + threads.OfHelper
)

// admit waits, as long as the run may wait, until the machine has room for its tasks.
func (s *session) admit(tasks int) error {
	wait := time.Duration(math.MaxInt64)
	switch {
	case s.opt.Nonblock:
		wait = s.opt.ConnectTimeout.D
	case s.opt.Wait.Given:
		wait = s.opt.Wait.D
	}
	began, told := time.Now(), s.opt.Quiet
	done, err := threads.Admit(tasks, wait, func(long bool) error {
		if long && !told {
			told = true
			fmt.Fprintf(os.Stderr, "leaderrun: warning: %v; waiting\n", threads.ErrOut) // the Console needs threads
		}
		return s.signals.ended()
	})
	if err != nil {
		return output.Reword(err, "%v: nothing was started; %s", err, raise)
	}
	s.admitted, s.waited = sync.OnceFunc(done), time.Since(began)
	return nil
}
