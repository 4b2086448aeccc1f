package runner

import (
	"errors"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
)

// maxReason is the maximum length of a reason in an event, in bytes. A pipe takes a line of
// 4 KiB whole or not at all, and JSON may need six bytes for one.
const maxReason = 500

// A reporter reports what happens: by events, and in the log.
type reporter struct {
	to    func(event.Event)
	log   *slog.Logger
	about event.Event // the fields that all events have
}

// reporter returns the reporter of the run.
func (r *run) reporter() reporter {
	return reporter{r.observer.Event, r.Logger, event.Event{Version: event.Version, Lock: r.Lock, ID: r.Holder, RunID: r.RunID}}
}

// notRun reports why the job was never started.
func (r reporter) notRun(err error) {
	e := event.Event{Kind: event.NotRun, Class: ClassOf(err), Reason: err.Error()}
	if held, ok := errors.AsType[*locks.HeldError](err); ok {
		e.Holder, e.Reason = locks.Printable(held.Status.Holder), held.Error()
	}
	if resigned, ok := errors.AsType[*ResignError](err); ok {
		e.Class = resigned.Class
	}
	r.emit(e)
}

// ofHook returns the reporter of a hook.
func (r reporter) ofHook(name string) reporter {
	r.log, r.about.Hook = r.log.With("hook", name), name
	return r
}

// emit passes an event on to the Observer.
func (r reporter) emit(e event.Event) {
	e.Version, e.Time = r.about.Version, time.Now()
	e.Lock, e.ID, e.RunID = r.about.Lock, r.about.ID, r.about.RunID
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
