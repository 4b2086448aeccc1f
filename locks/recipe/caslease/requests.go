package caslease

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A request to the holder is in a cell of its own: a write to the lock's cell would
// interfere with the holder's renewals. Each request replaces the one before, and the cell
// stays, like everything that this package creates. The holder reads the cell when the store
// reports a change, or if the store reports none, once after each renewal.

// A request is what somebody asks the holder. Whoever may write the cell can put anything
// there.
type request struct {
	Nonce string `json:"nonce"` // by which the holder recognizes a request that it has seen
	Token uint64 `json:"token"` // of the term that is meant
	Text  string `json:"text"`  // see EncodeText
}

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
	ctx2, cancel := l.workers.Until(ctx)
	defer cancel()
	l.mu.Lock()
	l.said = EncodeText(text)
	l.mu.Unlock()
	state := encodeJSON(request{Nonce: rand.Text(), Token: token, Text: EncodeText(text)})
	if err := l.insist(ctx2, func() error { return l.askOnce(ctx2, state) }); err != nil {
		return l.fail(ctx, "ask the holder of", err)
	}
	return nil
}

// askOnce writes a request, on the condition of what was there, so that one that arrives late
// does not replace a later one. If it is written twice, the holder recognizes it by its nonce,
// unless another request came in between.
func (l *Lock) askOnce(ctx context.Context, state string) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
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

// Asked implements [locks.Asker].
func (l *Lock) Asked() <-chan []byte { return l.asked }

// pollRequests reads the requests in the background, unless such a read is under way, or is
// not needed.
func (l *Lock) pollRequests(t *term) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.o.NoResign || l.polling || l.requestsDenied || l.final != nil || l.watching.active.Load() {
		return
	}
	l.polling = true
	_ = l.workers.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
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
	case err != nil && l.kind(err) == Denied:
		l.requestsDenied = true
		l.log.Warn("not allowed to read requests to resign; they have no effect", "err", l.plain(err))
	case err != nil:
		l.log.Debug("cannot read requests", "err", l.plain(err))
	default:
		l.deliver(t, v.State)
	}
}

// deliver delivers a request that is new and for our term. It replaces one that nobody has
// received yet.
func (l *Lock) deliver(t *term, value string) {
	var r request
	if len(value) > MaxRead || json.Unmarshal([]byte(value), &r) != nil || r.Token != t.state.Token || r.Nonce == l.delivered {
		return
	}
	text, ok := DecodeText(r.Text)
	if !ok {
		return
	}
	l.delivered = r.Nonce
	workers.Replace(l.asked, text)
}

// tell delivers the last word of whoever has broken our term.
func (l *Lock) tell(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	workers.Replace(l.asked, text)
}

var _ locks.Asker = (*Lock)(nil)
