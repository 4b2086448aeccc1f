// Package feed is what leaderrun writes to the standard input of leaderrun-monitor: one
// JSON object a line, the first of which has Open. The run ends when the input does.
//
// The format has no version, because both programs are installed together.
package feed

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/event"
)

// A Line has one of these, and when it was told.
type Line struct {
	At clock.Instant `json:"at"` // on the boot clock

	Open    *Open        `json:"open,omitempty"`
	Event   *event.Event `json:"event,omitempty"`
	Renewal *Renewal     `json:"renewal,omitempty"`
	Waiting *Waiting     `json:"waiting,omitempty"`
	Alive   bool         `json:"alive,omitempty"` // whoever could end the job is able to

	// Deadline is until when the lease is surely ours, on the boot clock: of the
	// event acquired, and of a renewal. 0: it cannot end.
	Deadline clock.Instant `json:"deadline,omitempty"`
}

// An Open says what the run is, and what to do.
type Open struct {
	Listen  string `json:"listen,omitempty"` // an address; "": none
	File    string `json:"file,omitempty"`   // to be written; "": none
	Lock    string `json:"lock"`
	Holder  string `json:"holder"` // our id
	Version string `json:"version"`
}

// A Renewal is one attempt to renew the lease.
type Renewal struct {
	Took  time.Duration `json:"took"`            // until it was acknowledged, or failed
	Left  time.Duration `json:"left"`            // of the lease by then
	Class string        `json:"class,omitempty"` // of the error; "": it was acknowledged
}

// A Waiting is who is waited for.
type Waiting struct {
	Holder   string `json:"holder,omitempty"`
	Position int    `json:"position,omitempty"` // ours in the queue, from 1; 0: not known
}

// AlivePeriod is how often Alive is told, and AliveLimit how long a run is well
// after it was.
const (
	AlivePeriod = 2 * time.Second
	AliveLimit  = 10 * time.Second
)
