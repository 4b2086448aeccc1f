package caslease

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
)

// A request to the holder is in a cell of its own: a write to the lock's cell would
// interfere with the holder's renewals. Each request replaces the one before, and the cell
// stays, like everything that this package creates. The holder reads the cell when the store
// reports a change, or if the store reports none, once after each renewal.

// encoded is the prefix of a text that is stored as Base64, because the store has only
// ASCII, or takes an empty text for none.
const encoded = "base64:"

// EncodeText encodes a text for a store that keeps only ASCII.
func EncodeText(text []byte) string { return encoded + base64.StdEncoding.EncodeToString(text) }

// DecodeText decodes a text, whoever wrote it, and reports whether that was possible.
func DecodeText(value string) (text []byte, ok bool) {
	b64, ok := strings.CutPrefix(value, encoded)
	if !ok || len(b64) > base64.StdEncoding.EncodedLen(locks.MaxRecord) {
		return nil, false
	}
	text, err := base64.StdEncoding.DecodeString(b64)
	return text, err == nil && locks.CheckText(text) == nil
}

// Ask implements [locks.Asker].
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	if err := locks.CheckText(text); err != nil {
		return err
	}
	l.mu.Lock()
	l.said = EncodeText(text)
	l.mu.Unlock()
	state := string(handle.NewRequest(token, EncodeText(text)))
	return l.Request(ctx, "ask the holder of", func(ctx context.Context) error {
		return l.insist(ctx, func() error { return l.askOnce(ctx, state) })
	})
}

// askOnce writes a request, on the condition of what was there, so that one that arrives late
// does not replace a later one. If it is written twice, the holder recognizes it by its nonce,
// unless another request came in between.
func (l *Lock) askOnce(ctx context.Context, state string) error {
	ctx, cancel := context.WithTimeout(ctx, l.Options.ConnectTimeout/2)
	defer cancel()
	v, err := l.read(ctx, Request)
	if err == nil {
		err = l.foreignRequest(v)
	}
	if err == nil {
		_, err = l.swap(ctx, Request, v, Value{State: state})
	}
	return err
}

// pollRequests reads the requests in the background, unless such a read is under way, or is
// not needed.
func (l *Lock) pollRequests(t *term) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Options.NoResign || l.polling || l.requestsDenied || l.final != nil || l.watching.active.Load() {
		return
	}
	l.polling = true
	_ = l.Workers.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, l.Options.ConnectTimeout/2)
		defer cancel()
		v, err := l.read(ctx, Request)
		l.gotRequests(t, v, err)
	})
}

// gotRequests delivers what a read has found. A read that failed does no harm: after the next
// renewal there is another one. If we are not allowed to read, we do not try again.
func (l *Lock) gotRequests(t *term, v *view, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.polling = false
	switch {
	case l.final != nil:
	case err != nil && l.kind(err) == causes.Denied:
		l.requestsDenied = true
		l.Log.Warn("not allowed to read requests to resign; they have no effect", "err", l.Plain(err))
	case err != nil:
		l.Log.Debug("cannot read requests", "err", l.Plain(err))
	default:
		r := handle.ReadRequest([]byte(v.State))
		if r == nil || r.Token != t.state.Token {
			return
		}
		if text, ok := DecodeText(r.Text); ok {
			l.Deliver(r.Nonce, text)
		}
	}
}

var _ locks.Asker = (*Lock)(nil)
