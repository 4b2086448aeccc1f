//go:build !bundle

package cmd

import (
	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/locks"
)

// linked are none: they are programs of their own.
func linked() map[string]env.Role { return nil }

// registerBundled links nothing: backends are helper programs.
func registerBundled(*locks.Registry) {}
