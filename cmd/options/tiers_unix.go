//go:build unix

package options

import "github.com/leaderrun/leaderrun/runner/guard"

// tiers are the ways to keep a job together.
func tiers() (names []string) {
	for _, t := range guard.Tiers() {
		names = append(names, string(t))
	}
	return names
}
