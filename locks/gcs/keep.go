package gcs

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/clock"
)

// What a Recorder keeps is in the custom metadata of the lock's own object, under
// a key of its own, as the service changes no two objects in one step. A write of
// it has the conditions of a renewal, so that it fails if the lock is not ours;
// and as the service merges metadata, no other write of ours touches it.
//
// It extends no lease: it neither writes the state anew nor moves the moment from
// which we count. That it moves "updated", and so lets others wait longer, does
// no harm.

const (
	// keptKey is the key of the metadata that has the text.
	keptKey = "leaderrun-record"
	// encoded is what a text in metadata begins with; base64 follows. The service
	// advises against any bytes but ASCII there, and takes an empty value for none.
	encoded = "base64:"
)

func encode(text []byte) string { return encoded + base64.StdEncoding.EncodeToString(text) }

// decode returns the text that a value of metadata has, whoever wrote it.
func decode(value string) ([]byte, bool) {
	b64, ok := strings.CutPrefix(value, encoded)
	if !ok || len(b64) > base64.StdEncoding.EncodedLen(locks.MaxRecord) {
		return nil, false
	}
	text, err := base64.StdEncoding.DecodeString(b64)
	return text, err == nil && locks.CheckText(text) == nil
}

// A keptError says that what is kept is not a text that leaderrun wrote. To take
// it for none could mean to run again what was done.
type keptError struct{ c *client }

func (e *keptError) Error() string {
	return "the object gs://" + e.c.s.bucket + "/" + e.c.name + " has a " + keptKey + " in its metadata that is not one of leaderrun's"
}

// A roomError says that the service refused to keep the text.
type roomError struct{ err error }

func (e *roomError) Error() string { return e.err.Error() }
func (e *roomError) Unwrap() error { return e.err }

// Record implements [locks.Recorder].
func (l *Lock) Record(ctx context.Context) ([]byte, error) {
	v, err := l.glance(ctx, l.c)
	if err == nil && errors.Is(v.foreign, errLarge) {
		err = &foreignError{l.c, v.foreign}
	}
	if err != nil {
		return nil, l.fail(ctx, "read the record of", err)
	}
	value, ok := v.metadata[keptKey]
	if !ok {
		return nil, nil
	}
	text, ok := decode(value)
	if !ok {
		return nil, l.fail(ctx, "read the record of", &keptError{l.c})
	}
	return text, nil
}

// SetRecord implements [locks.Recorder].
func (l *Lock) SetRecord(ctx context.Context, text []byte) error {
	l.mu.Lock()
	t, final := l.term, l.final
	l.mu.Unlock()
	err := locks.CheckText(text)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		err = ctx.Err()
	case final != nil:
		err = final
	case t == nil:
		err = errNotHeld
	default:
		ctx2, cancel := l.untilClosed(ctx)
		defer cancel()
		err = l.keep(ctx2, t, map[string]string{keptKey: encode(text)})
	}
	if err != nil {
		return l.fail(ctx, "write the record of", err)
	}
	return nil
}

// keep writes the text until a write of it is acknowledged, or surely in vain. A
// write whose answer was lost is repeated: if it took effect, the repetition is
// refused, as the object has changed. Then the object is read, and if it is still
// ours, written once more.
func (l *Lock) keep(ctx context.Context, t *term, text map[string]string) error {
	for pause := newBackoff(); ; {
		err := l.keepOnce(ctx, t, text)
		switch {
		case err == nil, gone(err):
			return err
		case status(err) == http.StatusBadRequest:
			return &roomError{err}
		case throttle(err):
			pause.AtLeast(throttled)
		case !stale(err) && !transient(err):
			return err
		}
		if why := l.mayWrite(t, now()); why != nil { // also when the object cannot be read
			return why
		}
		if pause.Wait(ctx) != nil {
			return err
		}
	}
}

func (l *Lock) keepOnce(ctx context.Context, t *term, text map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
	defer cancel()
	if err := l.afterRenewal(ctx); err != nil {
		return err
	}
	at, err := l.current(ctx, t)
	if err != nil {
		return err
	}
	sent := now()
	if err := l.mayWrite(t, sent); err != nil {
		return err
	}
	l.spaceRenewals(t, sent)
	v, err := l.c.patch(ctx, at, text)
	if err == nil || stale(err) {
		l.note(t, v, 0)
	}
	return err
}

// afterRenewal waits until no renewal is under way: of two writes on one
// condition one fails, and that is not to be the renewal. If one begins later it
// does not wait for us: it fails at most once, reads, and writes again.
func (l *Lock) afterRenewal(ctx context.Context) error {
	for {
		l.mu.Lock()
		done := l.renewing
		l.mu.Unlock()
		if done == nil {
			return nil
		}
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// spaceRenewals has the next renewal keep clear of a write: see pace.
func (l *Lock) spaceRenewals(t *term, wrote clock.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.wrote = wrote
}

var _ locks.Recorder = (*Lock)(nil)
