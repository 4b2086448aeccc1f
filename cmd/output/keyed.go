package output

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/leaderrun/leaderrun/runner"
)

// termAttrs are what is known of the term that we are in, if we are in one.
type termAttrs struct{ attrs atomic.Pointer[[]slog.Attr] }

// event learns from a transition.
func (t *termAttrs) event(e runner.Event) {
	switch e.Kind {
	case runner.EventAcquired:
		attrs := []slog.Attr{slog.Uint64("token", e.Token)}
		if e.Slot > 0 {
			attrs = append(attrs, slog.Int("slot", e.Slot))
		}
		t.attrs.Store(&attrs)
	case runner.EventRejoining:
		t.attrs.Store(nil)
	}
}

// keyed is a slog.Handler that adds the term to each message, so that all of them
// have the same keys, and each of these once: a backend names its lock and its
// address, too, and where a key stands twice in an object of JSON, readers differ in
// which one they take.
type keyed struct {
	slog.Handler
	term *termAttrs
	has  []string // the keys that every message has already
}

func (h *keyed) Handle(ctx context.Context, r slog.Record) error {
	var attrs []slog.Attr
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	attrs = without(h.has, attrs)
	if term := h.term.attrs.Load(); term != nil {
		attrs = append(attrs, without(append(keys(attrs), h.has...), *term)...)
	}
	once := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	once.AddAttrs(attrs...)
	return h.Handler.Handle(ctx, once)
}

func (h *keyed) WithAttrs(attrs []slog.Attr) slog.Handler {
	attrs = without(h.has, attrs)
	return &keyed{h.Handler.WithAttrs(attrs), h.term, append(keys(attrs), h.has...)}
}

func keys(attrs []slog.Attr) []string {
	var all []string
	for _, a := range attrs {
		all = append(all, a.Key)
	}
	return all
}

// without are those of the attributes that have none of these keys.
func without(keys []string, attrs []slog.Attr) []slog.Attr {
	var rest []slog.Attr
	for _, a := range attrs {
		if !slices.Contains(keys, a.Key) {
			rest = append(rest, a)
		}
	}
	return rest
}

// WithGroup is not used here: groups would hide the keys.
func (h *keyed) WithGroup(string) slog.Handler { return h }
