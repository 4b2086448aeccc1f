package options

import (
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// This file has what several subcommands derive from the values.

// Messages returns the settings of the console.
func (v *Values) Messages() output.Settings {
	return output.Settings{Verbose: int(v.Verbose), Quiet: v.Quiet, JSON: v.LogFormat.Value == "json", Lock: v.Lock, Backend: known.RedactText(v.Backend), ID: v.ID}
}

// Timing says when to renew, to signal and to kill.
func (v *Values) Timing() timing.Timing { return timing.New(v.TTL.D, v.KillAfter.D) }

// CheckTTL returns an error if the TTL is out of range. Where locks have no lease, it means
// nothing, and what would be one becomes the nearest value that is in range. The backend may be
// nil: it is not one of ours.
func (v *Values) CheckTTL(b *backend.Info) error {
	if b != nil && b.NoLease {
		v.TTL.D = min(max(v.TTL.D, timing.MinTTL), timing.MaxTTL)
	}
	return v.Timing().CheckTTL()
}
