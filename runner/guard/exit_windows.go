package guard

import "github.com/leaderrun/leaderrun/runner/proc"

// exitOf reads how the first process ended, as the guard says it.
func exitOf(n int64) proc.Exit { return proc.Exit{Code: int(uint32(n))} }
