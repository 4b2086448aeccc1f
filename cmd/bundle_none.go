//go:build !bundle

package cmd

import (
	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/locks"
)

// linked returns nil: the other programs are separate.
func linked() map[string]env.Role { return nil }

// registerBundled does nothing: backends are helper programs.
func registerBundled(*locks.Registry) {}
