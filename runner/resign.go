package runner

import (
	"encoding/json"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
)

// A ResignError says why we gave up the lock while it was ours, and the job had
// to end for that.
type ResignError struct{ Reason string }

func (e *ResignError) Error() string { return e.Reason }

// A Request asks the holder of a lock to resign.
type Request struct {
	By     string `json:"by,omitempty"`     // who asks
	Reason string `json:"reason,omitempty"` // why
}

// maxRequestText is the most of each text that is kept, in bytes.
const maxRequestText = 200

// Encode makes of it what locks.Asker.Ask takes.
func (r Request) Encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic("runner: strings cannot be encoded: " + err.Error())
	}
	return b
}

// resignFor returns an error if a request to resign is granted. Anybody may have written the
// request, perhaps in bad faith.
func (t *term) resignFor(request []byte) error {
	var r Request
	if json.Unmarshal(request, &r) != nil {
		t.report.log.Warn("a request that makes no sense was dropped")
		return nil
	}
	reason := "asked to resign"
	if r.By != "" {
		reason += " by " + short(r.By)
	}
	if r.Reason != "" {
		reason += ": " + short(r.Reason)
	}
	if t.c.NoResign {
		t.report.log.Warn("refused to resign", "err", reason)
		return nil
	}
	return t.report.resigned(reason)
}

func short(s string) string {
	if len(s) > maxRequestText {
		s = locks.Abbreviate(s)
	}
	return locks.Printable(s)
}

// resigned reports why the lock is about to be given up.
func (r reporter) resigned(reason string) error {
	r.log.Info("resigning", "err", reason)
	r.emit(event.Event{Kind: event.Resigned, Reason: reason})
	return &ResignError{reason}
}
