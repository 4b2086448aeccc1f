package options

import (
	"time"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// What more than one subcommand derives from values.

// Messages say what is printed.
func (v *Values) Messages() output.Settings {
	return output.Settings{Verbose: int(v.Verbose), Quiet: v.Quiet, JSON: v.LogFormat.Value == "json", Lock: v.Lock, Backend: v.Backend, Holder: v.ID}
}

// Timing derives when to renew, to signal and to kill.
func (v *Values) Timing() timing.Timing { return timing.New(v.TTL.D, v.Grace()) }

// Grace is what was asked for; negative if nothing was.
func (v *Values) Grace() time.Duration {
	if !v.KillAfter.Given {
		return -1
	}
	return v.KillAfter.D
}

// CheckConnectTimeout refuses what makes no sense.
func (v *Values) CheckConnectTimeout() error {
	if v.ConnectTimeout.D <= 0 || v.ConnectTimeout.D > time.Hour {
		return locks.Usagef("--connect-timeout %v is out of range: more than 0, at most 1h", v.ConnectTimeout.D)
	}
	return nil
}
