package runner

import (
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/runner/event"
)

// maxReason is the maximum length of a reason in an event, in bytes. A pipe takes a line of
// 4 KiB whole or not at all, and JSON may need six bytes for one.
const maxReason = 500

// A reporter reports what happens: by events, and in the log.
type reporter struct {
	to    func(event.Event) // may be nil
	log   *slog.Logger
	about event.Event // the fields that all events have
}

// ofHook returns the reporter of a hook.
func (r reporter) ofHook(name string) reporter {
	r.log, r.about.Hook = r.log.With("hook", name), name
	return r
}

// emit passes an event on to Config.Events.
func (r reporter) emit(e event.Event) {
	if r.to == nil {
		return
	}
	e.Version, e.Time = r.about.Version, time.Now()
	e.Lock, e.Holder, e.RunID = r.about.Lock, r.about.Holder, r.about.RunID
	e.Token, e.Slot, e.Hook = r.about.Token, r.about.Slot, r.about.Hook
	if len(e.Reason) > maxReason {
		cut := maxReason
		for !utf8.RuneStart(e.Reason[cut]) {
			cut--
		}
		e.Reason = e.Reason[:cut] + "…"
	}
	r.to(e)
}
