package output

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// A withoutRepeats is a slog.Handler that passes each warning on once: who looks at
// the same things again and again has the same to say about them.
type withoutRepeats struct {
	slog.Handler
	said *warnings
	with string // the attributes of all its records
}

// warnings are those that were passed on. They are forgotten when there are many.
type warnings struct {
	mu    sync.Mutex
	texts map[string]bool
}

const maxWarnings = 1000

// WithoutRepeats makes a logger that passes each warning on once.
func WithoutRepeats(l *slog.Logger) *slog.Logger {
	return slog.New(&withoutRepeats{Handler: l.Handler(), said: &warnings{texts: map[string]bool{}}})
}

func (h *withoutRepeats) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && !h.said.isNew(h.text(r)) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h *withoutRepeats) text(r slog.Record) string {
	text := r.Message + h.with
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	return text
}

func (w *warnings) isNew(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.texts[text] {
		return false
	}
	if len(w.texts) >= maxWarnings {
		clear(w.texts)
	}
	w.texts[text] = true
	return true
}

func (h *withoutRepeats) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &withoutRepeats{h.Handler.WithAttrs(attrs), h.said, h.with + fmt.Sprint(attrs)}
}
