package runner

import (
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
	"github.com/leaderrun/leaderrun/runner/event"
)

// Once says that the job must succeed once in a window of time, on any host. See package
// window.
type Once struct {
	Schedule string
	Window   int64  // the key of a window.Window
	Begins   int64  // when the window is scheduled to begin, in seconds since 1970
	Label    string // of the window, for people
	Attempt  bool   // a start of the job counts as the success
}

// A SkippedError says that the job did not run, because it has already run in its window.
type SkippedError struct {
	Label string
	Run   ledger.Run // the run in the window; At is 0 if it is unknown
}

func (e *SkippedError) Error() string {
	if e.Run.At == 0 {
		return fmt.Sprintf("skipped: the window %s is over, and others after it", e.Label)
	}
	return fmt.Sprintf("skipped: the window %s was run by %s, until %s", e.Label,
		locks.Printable(e.Run.By), time.Unix(e.Run.At, 0).Format(time.DateTime))
}

// skipIfDone returns a *SkippedError if the job has already run in its window.
func (t *term) skipIfDone() error {
	if t.r.Once == nil {
		return nil
	}
	record, err := t.note(nil)
	if err != nil {
		return err
	}
	if run, done := record.Done(t.r.Once.Schedule, t.r.Once.Window); done {
		skipped := &SkippedError{t.r.Once.Label, run}
		t.report.emit(event.Event{Kind: event.Skipped, Class: event.ClassDone, Reason: skipped.Error()})
		return skipped
	}
	return nil
}

// noteAttempt is the last step before the job. If a start counts as the success, it notes the
// run, because nobody may be able to after the start.
func (t *term) noteAttempt() error {
	if t.r.Once == nil || !t.r.Once.Attempt {
		return nil
	}
	t.attempted = true // perhaps, also if there is no answer
	return t.noteRun()
}

// takeBackAttempt is called when the job has ended. If it was never started, it has not run, and
// another run may try, here or on another host.
func (t *term) takeBackAttempt(o outcome) {
	if !t.attempted || t.began != 0 || o.class().lost {
		return
	}
	_, err := t.note(func(record *ledger.Record) error {
		record.Unfinish(t.r.Once.Schedule, t.r.Once.Window, t.grant.Token)
		return nil
	})
	if err != nil {
		t.report.log.Error("the job was not started, but this could not be recorded; its window counts as run", "window", t.r.Once.Label, "err", err)
	}
}

// noteRun notes that the job has run in its window.
func (t *term) noteRun() error {
	run := ledger.Run{Window: t.r.Once.Window, By: t.r.Holder, At: time.Now().Unix(), Token: t.grant.Token}
	if t.r.Once.Begins != run.Window {
		run.Begins = t.r.Once.Begins
	}
	_, err := t.note(func(record *ledger.Record) error { return record.Finish(t.r.Once.Schedule, run) })
	return err
}

// succeeded is called when the job has succeeded under the lease and nothing of it is left.
func (t *term) succeeded() {
	if t.r.Once == nil || t.r.Once.Attempt {
		return
	}
	if err := t.noteRun(); err != nil {
		t.report.log.Error("the job succeeded, but this could not be recorded; it may run again", "window", t.r.Once.Label, "err", err)
	}
}
