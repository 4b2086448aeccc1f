package runner

import (
	"encoding/json"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
)

// A ResignError says why we released the lock, and ended the job, although the lease was
// ours.
type ResignError struct {
	Reason string
	Class  string // of the reason: event.ClassResigned if somebody has asked
}

func (e *ResignError) Error() string { return e.Reason }

// A Request asks the holder of a lock to resign.
type Request struct {
	By     string `json:"by,omitempty"`     // who asks
	Reason string `json:"reason,omitempty"` // why
	// Force is set if the lock is being taken away, whether the holder resigns or not: it only
	// learns from this why.
	Force bool `json:"force,omitempty"`
}

// maxRequestText is the maximum length of each text of a request, in bytes.
const maxRequestText = 200

// maxRefused is how many requests of a term are logged as refused: anybody can send more.
const maxRefused = 20

// Encode returns the request as locks.Asker.Ask takes it.
func (r Request) Encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic("runner: strings cannot be encoded: " + err.Error())
	}
	return b
}

// resignFor returns the *ResignError with which the term ends, or nil if the request is
// refused. Anybody may have written the request, perhaps in bad faith.
func (t *term) resignFor(request []byte) error {
	var r Request
	if json.Unmarshal(request, &r) != nil {
		if !t.ignored {
			t.ignored = true
			t.report.log.Warn("ignored an invalid request; others of this term are not logged")
		}
		return nil
	}
	reason := "asked to resign"
	if r.Force {
		reason = "taken away"
	}
	if r.By != "" {
		reason += " by " + short(r.By)
	}
	if r.Reason != "" {
		reason += ": " + short(r.Reason)
	}
	if r.Force {
		t.lease.taken.Store(&reason)
		return nil
	}
	if t.r.NoResign {
		if t.refused++; t.refused <= maxRefused {
			t.report.log.Warn("refused to resign", "err", reason)
		}
		return nil
	}
	return t.report.resigned(event.ClassResigned, reason)
}

// takenAway returns the error with which a term ended. If that is a loss, it says who took the
// lock away and why, if we were told, perhaps only as the lock was lost.
func (t *term) takenAway(err error) error {
	if !errors.Is(err, locks.ErrLost) {
		return err
	}
	select {
	case request := <-t.requests:
		var r Request
		if json.Unmarshal(request, &r) == nil && r.Force {
			_ = t.resignFor(request)
		}
	default:
	}
	return t.lease.explained(err)
}

func short(s string) string {
	if len(s) > maxRequestText {
		s = locks.Abbreviate(s)
	}
	return locks.Printable(s)
}

// resigned reports why the lock will be released, and returns a *ResignError.
func (r reporter) resigned(class, reason string) error {
	r.log.Info("resigning", "err", reason)
	r.emit(event.Event{Kind: event.Resigned, Class: class, Reason: reason})
	return &ResignError{reason, class}
}
