//go:build !bundle

package cmd

import "github.com/leaderrun/leaderrun/locks"

// linkedMonitor returns nil, because leaderrun-monitor is a separate program.
func linkedMonitor() func(args []string) int { return nil }

// registerBundled links nothing, because backends are helper programs.
func registerBundled(*locks.Registry) {}
