package output

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/leaderrun/leaderrun/runner/event"
)

// termAttrs are what is known of the term that we are in, if we are in one.
type termAttrs struct{ attrs atomic.Pointer[[]slog.Attr] }

// event learns from a transition.
func (t *termAttrs) event(e event.Event) {
	switch e.Kind {
	case event.Acquired:
		attrs := []slog.Attr{slog.Uint64("token", e.Token)}
		if e.Slot > 0 {
			attrs = append(attrs, slog.Int("slot", e.Slot))
		}
		t.attrs.Store(&attrs)
	case event.Rejoining:
		t.attrs.Store(nil)
	}
}

// keyed is a slog.Handler that adds the term to each message, so that all of them
// have the same keys, and each of these once: a backend also names its lock and its
// address, and if an object of JSON has a key twice, readers differ in which one they
// take. The first one counts, and the term comes last.
type keyed struct {
	slog.Handler
	term  *termAttrs
	attrs []slog.Attr // that every message has
}

func (h *keyed) Handle(ctx context.Context, r slog.Record) error {
	var own, term []slog.Attr
	r.Attrs(func(a slog.Attr) bool {
		own = append(own, a)
		return true
	})
	if attrs := h.term.attrs.Load(); attrs != nil {
		term = *attrs
	}
	once := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	once.AddAttrs(firsts(h.attrs, own, term)...)
	return h.Handler.Handle(ctx, once)
}

func (h *keyed) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &keyed{h.Handler, h.term, firsts(h.attrs, attrs)}
}

// firsts are the attributes, of those with one key the first.
func firsts(all ...[]slog.Attr) (once []slog.Attr) {
	for _, a := range slices.Concat(all...) {
		if !slices.ContainsFunc(once, func(b slog.Attr) bool { return a.Key == b.Key }) {
			once = append(once, a)
		}
	}
	return once
}

// WithGroup is not used here: groups would hide the keys.
func (h *keyed) WithGroup(string) slog.Handler { return h }
