package caslease

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// A request to the holder is in a cell of its own: a write to the lock's would come
// between the holder and its renewals. Each request replaces the one before, and the
// cell stays, as all that this package makes. The holder reads it when it is told of a
// change, or where nobody tells, once after each renewal: unconditionally, as a cell
// that was made anew may have the version of the one before.

// A request is what the holder is asked. Whoever may write the cell can put anything
// there.
type request struct {
	Nonce string `json:"nonce"` // by which a second look knows it
	Token uint64 `json:"token"` // of the term that is meant
	Text  string `json:"text"`  // see EncodeText
}

// encoded is what a text begins with where there can be only ASCII, or an empty one is
// taken for none. Base64 follows.
const encoded = "base64:"

// EncodeText makes a text fit for a store that keeps only ASCII.
func EncodeText(text []byte) string { return encoded + base64.StdEncoding.EncodeToString(text) }

// DecodeText returns the text that a value has, whoever wrote it.
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
	if err := l.leave(ctx2, encodeJSON(request{Nonce: rand.Text(), Token: token, Text: EncodeText(text)})); err != nil {
		return l.fail(ctx, "ask the holder of", err)
	}
	return nil
}

// leave writes a request, until that is acknowledged. It is written on the
// condition of what was there, so that one which arrives late replaces no later
// one. If it is written twice, its nonce keeps the holder from hearing it twice,
// unless somebody else's came between.
func (l *Lock) leave(ctx context.Context, state string) error {
	return l.insist(ctx, func() error { return l.leaveOnce(ctx, state) })
}

func (l *Lock) leaveOnce(ctx context.Context, state string) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
	defer cancel()
	v, err := l.read(ctx, Request)
	if err == nil && v.Foreign != "" {
		err = l.foreign(Request, v.foreign, l.traits.HintForeign)
	}
	if err == nil {
		_, err = l.swap(ctx, Request, v, Value{State: state})
	}
	return err
}

// Asked implements [locks.Asker].
func (l *Lock) Asked() <-chan []byte { return l.asked }

// listen looks in the background what we are asked, unless that is going on, or
// is not wanted.
func (l *Lock) listen(t *term) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.o.NoResign || l.listening || l.deaf || l.final != nil || l.ear.hears.Load() {
		return
	}
	l.listening = true
	_ = l.workers.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
		defer cancel()
		v, err := l.read(ctx, Request)
		l.hear(t, v, err)
	})
}

// hear passes on what a look has found. One that failed does no harm: the next
// renewal is followed by another. If we may not look we do not try again.
func (l *Lock) hear(t *term, v *view, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listening = false
	switch {
	case l.final != nil:
	case err != nil && l.kind(err) == Denied:
		l.deaf = true
		l.log.Warn("not allowed to look for requests to resign; none will be heard", "err", l.plain(err))
	case err != nil:
		l.log.Debug("cannot look for requests", "err", l.plain(err))
	default:
		l.deliver(t, v.State)
	}
}

// deliver passes a request on that is new and for our term. One that nobody has
// received yet is forgotten.
func (l *Lock) deliver(t *term, value string) {
	var r request
	if len(value) > MaxRead || json.Unmarshal([]byte(value), &r) != nil || r.Token != t.state.Token || r.Nonce == t.heard {
		return
	}
	text, ok := DecodeText(r.Text)
	if !ok {
		return
	}
	t.heard = r.Nonce
	select {
	case <-l.asked:
	default:
	}
	l.asked <- text
}

var _ locks.Asker = (*Lock)(nil)
