//go:build !bundle

package cmd

import "github.com/leaderrun/leaderrun/locks"

// registerBundled links nothing: backends are helper programs.
func registerBundled(*locks.Registry) {}
