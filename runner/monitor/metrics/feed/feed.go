// Package feed is what leaderrun writes to the standard input of leaderrun-monitor: one
// JSON object a line, the first of which has Open. The run ends when the input does.
//
// The format has no version, because both programs are installed together. This is a package
// of its own because leaderrun must not link what package metrics does.
package feed

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/event"
)

// A Line has one of the following, and the time at which it was sent.
type Line struct {
	At clock.Instant `json:"at"` // on the boot clock

	Open    *Open        `json:"open,omitempty"`
	Event   *event.Event `json:"event,omitempty"`
	Renewal *Renewal     `json:"renewal,omitempty"`
	Waiting *Waiting     `json:"waiting,omitempty"`
	Alive   bool         `json:"alive,omitempty"` // the loop that would end the job still runs

	// Deadline is the end of the time in which the lease is certainly ours, on the boot
	// clock. The event "acquired" and renewals have it. 0: the lease cannot end.
	Deadline clock.Instant `json:"deadline,omitempty"`
}

// An Open describes the run, and says what to export.
type Open struct {
	Listen    string `json:"listen,omitempty"` // an address, or ""
	File      string `json:"file,omitempty"`   // the file to write, or ""
	Lock      string `json:"lock"`
	ID        string `json:"id"` // ours
	Advertise string `json:"advertise,omitempty"`
	Version   string `json:"version"`
}

// A Renewal is one attempt to renew the lease.
type Renewal struct {
	Took  time.Duration `json:"took"`            // how long it took until it was acknowledged, or failed
	Left  time.Duration `json:"left"`            // what was left of the lease then
	Class string        `json:"class,omitempty"` // the class of the error, or "" if it was acknowledged
}

// A Waiting says whom we wait for.
type Waiting struct {
	Holder    string `json:"holder,omitempty"`
	Advertise string `json:"advertise,omitempty"`
	Position  int    `json:"position,omitempty"` // our place in the queue, from 1, or 0 if it is not known
}

// Alive is sent each AlivePeriod, except while an attempt to use the lock's record is under way,
// which takes up to 10 s. A run counts as healthy for AliveLimit after each.
const (
	AlivePeriod = 2 * time.Second
	AliveLimit  = 15 * time.Second
)
