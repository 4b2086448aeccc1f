//go:build unix

package cmd

import "github.com/leaderrun/leaderrun/runner/proc"

// become replaces this process by the command. It returns only if it fails.
func become(c proc.Command) (int, error) { return 0, proc.Exec(c) }
