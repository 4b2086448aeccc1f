package guard

import "github.com/leaderrun/leaderrun/runner/proc"

// exitOf returns the Exit that the guard reports as n.
func exitOf(n int64) proc.Exit { return proc.Exit{Code: int(uint32(n))} }
