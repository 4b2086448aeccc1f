//go:build !bundle

package cmd

import "github.com/leaderrun/leaderrun/locks"

// linkedProbe is not there: it is a program of its own.
var linkedProbe func([]string) int

// registerBundled links nothing: backends are helper programs.
func registerBundled(*locks.Registry) {}
