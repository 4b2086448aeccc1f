package runner

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A Host is what a run needs from the program around it. Its methods may be called from several
// goroutines.
type Host interface {
	// Open makes a handle for one attempt. The function becomes locks.Options.Waiting.
	Open(ctx context.Context, waiting func(locks.Waiting)) (locks.Lock, error)
	// Starter returns a starter of one task. It is closed when the task is gone.
	Starter() (proc.Starter, error)
	// NotOfJob reports whether a process is of the program and not of the job: see
	// proc.OnDeath.
	NotOfJob(pid int) bool
	// IsOuter reports whether the holder of the lock is a leaderrun in whose job we run: see
	// [OuterError]. It must not block.
	IsOuter(s locks.Status) bool
	// Terminal is called before each start of the job. It returns nil if there is no
	// terminal.
	Terminal() Terminal
}
