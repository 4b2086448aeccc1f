package runner

import (
	"encoding/json"

	"github.com/leaderrun/leaderrun/locks"
)

// A ResignError says why we gave up the lock while it was ours, and the job had
// to end for that.
type ResignError struct{ Reason string }

func (e *ResignError) Error() string { return e.Reason }

// A Petition asks the holder of a lock to resign.
type Petition struct {
	By     string `json:"by,omitempty"`     // who asks
	Reason string `json:"reason,omitempty"` // why
}

// maxPetition is the most of each text that is kept, in bytes.
const maxPetition = 200

// Encode makes of it what locks.Asker.Ask takes.
func (p Petition) Encode() []byte {
	b, err := json.Marshal(p)
	if err != nil {
		panic("runner: strings cannot be encoded: " + err.Error())
	}
	return b
}

// petition takes a request to resign, which somebody wrote, perhaps in bad
// faith. It returns an error if it is granted.
func (r *run) petition(text []byte) error {
	var p Petition
	if json.Unmarshal(text, &p) != nil {
		r.Logger.Warn("a request that makes no sense was dropped")
		return nil
	}
	reason := "asked to resign"
	if p.By != "" {
		reason += " by " + short(p.By)
	}
	if p.Reason != "" {
		reason += ": " + short(p.Reason)
	}
	if r.NoResign {
		r.Logger.Warn("refused to resign", "err", reason)
		return nil
	}
	return r.resigned(reason)
}

func short(s string) string {
	if len(s) > maxPetition {
		s = locks.Abbreviate(s)
	}
	return locks.Printable(s)
}

// resigned tells why the lock is going to be given up.
func (r *run) resigned(reason string) error {
	r.Logger.Info("resigning", "err", reason)
	r.emit(Event{Kind: EventResigned, Reason: reason})
	return &ResignError{reason}
}

// lostWhile tells that the lease was lost while nothing of the job ran.
func (r *run) lostWhile(err error) error {
	r.emit(Event{Kind: EventLost, Class: ClassOf(err), Reason: err.Error()})
	return err
}
