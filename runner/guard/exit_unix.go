//go:build unix

package guard

import (
	"syscall"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// exitOf returns the Exit that the guard reports as n.
func exitOf(n int64) proc.Exit { return proc.ExitOf(syscall.WaitStatus(n)) }
