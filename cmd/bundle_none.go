//go:build !bundle

package cmd

import "github.com/leaderrun/leaderrun/locks"

// linkedMetrics and linkedProbe are not there: they are programs of their own.
var linkedMetrics, linkedProbe func([]string) int

// registerBundled links nothing: backends are helper programs.
func registerBundled(*locks.Registry) {}
