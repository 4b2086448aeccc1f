package cmd

import (
	"context"
	"log/slog"
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
// have the same keys.
type keyed struct {
	slog.Handler
	term *termAttrs
}

func (h *keyed) Handle(ctx context.Context, r slog.Record) error {
	attrs := h.term.attrs.Load()
	if attrs == nil {
		return h.Handler.Handle(ctx, r)
	}
	r = r.Clone()
	r.AddAttrs(missing(r, *attrs)...)
	return h.Handler.Handle(ctx, r)
}

// missing are those of the attributes that a record has not.
func missing(r slog.Record, attrs []slog.Attr) []slog.Attr {
	has := map[string]bool{}
	r.Attrs(func(a slog.Attr) bool {
		has[a.Key] = true
		return true
	})
	var lacks []slog.Attr
	for _, a := range attrs {
		if !has[a.Key] {
			lacks = append(lacks, a)
		}
	}
	return lacks
}

func (h *keyed) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &keyed{h.Handler.WithAttrs(attrs), h.term}
}

// WithGroup is not used here: groups would hide the keys.
func (h *keyed) WithGroup(string) slog.Handler { return h }
