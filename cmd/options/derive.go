package options

import (
	"github.com/leaderrun/leaderrun/cmd/output"
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
