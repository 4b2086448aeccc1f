package runner

import (
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
)

// Once says that the job is to succeed once in a window of time, whoever runs
// it. See package window for what the first two are.
type Once struct {
	Schedule string
	Slot     int64
	Label    string // of the slot, for people
	Attempt  bool   // the start counts as the success
}

// A SkippedError says that the job was not run, as its window needs no run any
// more.
type SkippedError struct {
	Label string
	Run   ledger.Run // which has seen to it; without At if that is not known
}

func (e *SkippedError) Error() string {
	if e.Run.At == 0 {
		return fmt.Sprintf("skipped: the window %s is over, and others after it", e.Label)
	}
	return fmt.Sprintf("skipped: the window %s was run by %s, until %s", e.Label,
		locks.Printable(e.Run.By), time.Unix(e.Run.At, 0).Format(time.DateTime))
}

// openWindow returns a *SkippedError if the window needs no run.
func (r *run) openWindow() error {
	if r.Once == nil {
		return nil
	}
	record, err := r.note(nil)
	if err != nil {
		return err
	}
	if run, done := record.Done(r.Once.Schedule, r.Once.Slot); done {
		skipped := &SkippedError{r.Once.Label, run}
		r.emit(Event{Kind: EventSkipped, Reason: skipped.Error()})
		return skipped
	}
	if r.Once.Attempt {
		return r.closeWindow()
	}
	return nil
}

// closeWindow notes that the window needs no other run.
func (r *run) closeWindow() error {
	_, err := r.note(func(record *ledger.Record) error {
		return record.Finish(r.Once.Schedule, ledger.Run{
			Slot: r.Once.Slot, By: r.Holder, At: time.Now().Unix(), Token: r.grant.Token,
		})
	})
	return err
}

// succeeded is called when the job has, under the lease, and nothing is left.
func (r *run) succeeded() {
	if r.Once == nil || r.Once.Attempt {
		return
	}
	if err := r.closeWindow(); err != nil {
		r.Logger.Error("the job succeeded, but that could not be noted, and it may be run again", "window", r.Once.Label, "err", err)
	}
}
