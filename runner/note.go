package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
)

// What is kept beside the lock, through a backend that is a locks.Recorder. It
// is read and written under the lease, and so by one holder at a time.

// A write, or a read, that fails is tried again after a while, for as long as
// this in all, if the lease allows it.
const (
	notePause = 200 * time.Millisecond
	noteLimit = 10 * time.Second
)

// note reads the record and, if change is not nil, writes it back changed. What
// ends the term ends a note before the job, too. Once we are leaving, only a loss
// does: what the job came to is not forgotten for a signal.
func (r *run) note(change func(*ledger.Record) error) (*ledger.Record, error) {
	end := r.Clock.Now().Add(noteLimit)
	for {
		record, err := r.noteOnce(change)
		now := r.Clock.Now()
		switch {
		case err == nil, classed(err) && !errors.Is(err, locks.ErrUnavailable):
			return record, err
		case now >= min(end, r.termAt()):
			return record, unavailable(err)
		}
		r.Logger.Debug("the record beside the lock could not be had, will retry", "err", err)
		if why := r.idle(notePause); why != nil && (!r.leaving || r.lostLease() != nil) {
			return nil, why
		}
	}
}

// unavailable says of an error that is of no class what it comes to for the user.
func unavailable(err error) error {
	if errors.Is(err, locks.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
}

// classed reports whether an error is one that another attempt would meet again.
func classed(err error) bool {
	return errors.Is(err, locks.ErrLost) || errors.Is(err, locks.ErrDenied) || errors.Is(err, locks.ErrUsage) || errors.Is(err, errRecord)
}

// errRecord is that of a record that makes no sense.
var errRecord = errors.New("somebody else has written into it")

func (r *run) noteOnce(change func(*ledger.Record) error) (*ledger.Record, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.Timing.Attempt)
	defer cancel()
	recorder := r.lock.(locks.Recorder) // as required before the campaign
	text, err := recorder.Record(ctx)
	if err != nil {
		return nil, err
	}
	record, err := ledger.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, errRecord)
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
