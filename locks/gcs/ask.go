package gcs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"

	"github.com/leaderrun/leaderrun/locks"
)

// A request to the holder is in an object of its own: a write to the lock's would
// come between the holder and its renewals. Each request replaces the one before,
// and the object stays, as all that this package makes. After each renewal the
// holder reads it once: unconditionally, as "not changed" would cost the same, and
// an object that was made anew can have the metageneration of the one before.

const (
	// askSuffix makes the name of that object from the lock's. No object of a lock
	// ends with it, under whatever prefix: "~" is in no lock's name, and [EscapeName]
	// leaves none of "/".
	askSuffix = "~ask"
	// askKey is the key of its metadata that has the request.
	askKey = "leaderrun-ask"
)

// A request is what the holder is asked. Whoever may write the object can put
// anything there.
type request struct {
	Nonce string `json:"nonce"` // by which a second look knows it
	Token uint64 `json:"token"` // of the term that is meant
	Text  string `json:"text"`  // see encode
}

// Ask implements [locks.Asker].
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	if err := locks.CheckText(text); err != nil {
		return err
	}
	ctx2, cancel := l.untilClosed(ctx)
	defer cancel()
	if err := l.leave(ctx2, map[string]string{askKey: newRequest(token, text)}); err != nil {
		return l.fail(ctx, "ask the holder of", err)
	}
	return nil
}

func newRequest(token uint64, text []byte) string {
	b, err := json.Marshal(request{Nonce: rand.Text(), Token: token, Text: encode(text)})
	if err != nil {
		panic("gcs: a request of strings cannot be encoded: " + err.Error())
	}
	return string(b)
}

// leave writes a request, until that is acknowledged. It is written on the
// condition of what was there, so that one which arrives late replaces no later
// one. If it is written twice, its nonce keeps the holder from hearing it twice,
// unless somebody else's came between.
func (l *Lock) leave(ctx context.Context, metadata map[string]string) error {
	return l.insist(ctx, func() error { return l.leaveOnce(ctx, metadata) })
}

func (l *Lock) leaveOnce(ctx context.Context, metadata map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
	defer cancel()
	v, err := l.asks.read(ctx)
	if err != nil {
		return err
	}
	if v.exists {
		_, err = l.asks.patch(ctx, v, metadata)
	} else {
		_, err = l.asks.create(ctx, metadata)
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
	if l.o.NoResign || l.listening || l.deaf || l.final != nil {
		return
	}
	l.listening = true
	l.looks.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), l.o.ConnectTimeout/2)
		defer cancel()
		ctx, done := l.untilClosed(ctx)
		defer done()
		v, err := l.asks.read(ctx)
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
	case status(err) == http.StatusForbidden && !throttle(err) && !hasReason(err, "quotaExceeded"):
		l.deaf = true
		l.log.Warn("not allowed to look for requests to resign; none will be heard", "err", plain(err))
	case err != nil:
		l.log.Debug("cannot look for requests", "err", plain(err))
	default:
		l.deliver(t, v.metadata[askKey])
	}
}

// deliver passes a request on that is new and for our term. One that nobody has
// received yet is forgotten.
func (l *Lock) deliver(t *term, value string) {
	var r request
	if len(value) > maxRecord || json.Unmarshal([]byte(value), &r) != nil || r.Token != t.record.Token || r.Nonce == t.heard {
		return
	}
	text, ok := decode(r.Text)
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
