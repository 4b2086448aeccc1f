package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
)

// A backend that is a locks.Recorder keeps a record with the lock. We read and write it
// under the lease, so only one holder does so at a time, and the server refuses the writes of a
// holder that was taken over. If the record is invalid, the run ends before the job starts.

// If a read or a write fails, we repeat it after notePause, for up to noteLimit in all and
// while the lease allows it.
const (
	notePause = 200 * time.Millisecond
	noteLimit = 10 * time.Second
)

// note reads the record and, if change is not nil, writes the changed record. Before the
// job, anything that ends the term ends the note. When we are leaving, only a loss does:
// in spite of a signal we must note how the job ended.
func (t *term) note(change func(*ledger.Record) error) (*ledger.Record, error) {
	end := t.r.Clock.Now().Add(noteLimit)
	for {
		record, err := t.tryNote(change)
		unavailable := errors.Is(err, locks.ErrUnavailable)
		cl := classify(err)
		switch {
		case err == nil, errors.Is(err, ErrRecord), !unavailable && (cl.lost || cl.final):
			return record, err
		case t.r.Clock.Now() >= min(end, t.lease.signalAt()):
			if !unavailable {
				err = fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
			}
			return record, err
		}
		t.report.log.Debug("cannot use the record of the lock, will retry", "err", err)
		if why := t.idle(notePause); why != nil && (!t.leaving || t.lease.lost() != nil) {
			return nil, why
		}
	}
}

// draining notes, for others to see, that the job takes its time to stop, until killBy at the
// latest. It does not wait, and lead waits for it. If the note fails, nothing depends on it.
func (t *term) draining(since, killBy clock.Instant) {
	now, wall := t.r.Clock.Now(), time.Now()
	seconds := func(at clock.Instant) int64 { return wall.Add(at.Sub(now)).Unix() }
	t.noting.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), t.r.Timing.Attempt)
		defer cancel()
		err := locks.Require(ctx, t.lock, "", locks.CanRecord)
		if err == nil {
			_, err = t.tryNote(func(record *ledger.Record) error {
				record.Stopping = &ledger.Stopping{Token: t.grant.Token, Since: seconds(since), Kill: seconds(killBy)}
				return nil
			})
		}
		if err != nil {
			t.report.log.Debug("others are not told that the job is stopping", "err", err)
		}
	})
}

// ErrRecord is the error of an invalid record. It is an [locks.ErrUnavailable].
var ErrRecord = fmt.Errorf("%w: another program has written into the lock's record", locks.ErrUnavailable)

func (t *term) tryNote(change func(*ledger.Record) error) (*ledger.Record, error) {
	ctx, cancel := context.WithTimeout(context.Background(), t.r.Timing.Attempt)
	defer cancel()
	recorder := t.lock.(locks.Recorder) // as required before the campaign
	text, err := recorder.Record(ctx)
	if err != nil {
		return nil, err
	}
	record, err := ledger.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if change == nil {
		return record, nil
	}
	if err := change(record); err != nil {
		return nil, err
	}
	if text, err = record.Encode(); err != nil {
		return nil, err
	}
	return record, recorder.SetRecord(ctx, text)
}
