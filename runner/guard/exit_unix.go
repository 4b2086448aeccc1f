//go:build unix

package guard

import (
	"syscall"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// exitOf reads how the first process ended, as the guard says it.
func exitOf(n int64) proc.Exit { return proc.ExitOf(syscall.WaitStatus(n)) }
